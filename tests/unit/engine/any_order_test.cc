// The promise of the engine: operations complete whatever the order in which each rank issues
// them, and whoever runs when. One thread plays all ranks, so every run can be repeated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/support/cluster.h"
#include "tests/support/sanitized.h"

namespace tutti::test {
namespace {

using engine::Operation;
using engine::OperationState;

std::vector<Rank> ranks(std::initializer_list<uint32_t> list) {
  std::vector<Rank> out;
  for (const uint32_t r : list) out.emplace_back(r);
  return out;
}

// Issues collectives on every rank in that rank's own order and gives turns at random.
class AnyOrder {
 public:
  AnyOrder(uint32_t num_ranks, uint64_t seed, Reach reach = Reach::kThreads)
      : cluster_(num_ranks, reach), random_(seed) {}

  void add(const TestCollective::Spec& spec, std::vector<Rank> members) {
    const uint64_t id = (collectives_.size() + 1) * 0x9E3779B97F4A7C15u;
    collectives_.push_back(std::make_unique<TestCollective>(spec, id, std::move(members)));
  }

  // Orders of each rank: those of its collectives, shuffled, or as given.
  void shuffle() {
    for (uint32_t r = 0; r < cluster_.num_ranks(); ++r) {
      std::vector<size_t> order;
      for (size_t c = 0; c < collectives_.size(); ++c) {
        if (place_of(c, r) < collectives_[c]->members().size()) order.push_back(c);
      }
      std::shuffle(order.begin(), order.end(), random_);
      orders_.push_back(std::move(order));
    }
  }
  void set_orders(std::vector<std::vector<size_t>> orders) { orders_ = std::move(orders); }

  // Runs until nothing is left to do, or nothing moves any more. How many are left.
  size_t run() {
    issued_.assign(orders_.size(), 0);
    size_t idle = 0;
    while (idle < 50 * cluster_.num_ranks()) {
      const auto rank = static_cast<uint32_t>(random_() % cluster_.num_ranks());
      const bool issues = issued_[rank] < orders_[rank].size() && random_() % 3 == 0;
      if (issues) issue(rank);
      const bool moved = cluster_.engine(rank).progress();
      idle = issues || moved ? 0 : idle + 1;
    }
    return static_cast<size_t>(std::count_if(works_.begin(), works_.end(), [](const Operation* op) {
      return op->state.load() != OperationState::kDone;
    }));
  }

  [[nodiscard]] std::string difference() const {
    for (const auto& collective : collectives_) {
      if (std::string text = collective->difference(); !text.empty()) return text;
    }
    return "";
  }
  [[nodiscard]] size_t left_behind() {
    size_t sum = 0;
    for (uint32_t r = 0; r < cluster_.num_ranks(); ++r) {
      sum += cluster_.engine(r).num_under_way() + cluster_.engine(r).endpoint().arena().used() +
             cluster_.engine(r).endpoint().words().used() +
             cluster_.engine(r).endpoint().heap().used();
    }
    return sum;
  }
  [[nodiscard]] size_t num_issued() const { return works_.size(); }

 private:
  [[nodiscard]] size_t place_of(size_t collective, uint32_t rank) const {
    const auto& members = collectives_[collective]->members();
    return static_cast<size_t>(std::find(members.begin(), members.end(), Rank{rank}) -
                               members.begin());
  }

  void issue(uint32_t rank) {
    const size_t c = orders_[rank][issued_[rank]++];
    const auto place = static_cast<uint32_t>(place_of(c, rank));
    works_.push_back(cluster_.engine(rank).submit(collectives_[c]->request(place)).value());
  }

  Cluster cluster_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<TestCollective>> collectives_;
  std::vector<std::vector<size_t>> orders_;
  std::vector<size_t> issued_;
  std::vector<Operation*> works_;
};

constexpr TestCollective::Spec kMixed[] = {
    {CollectiveKind::kAllReduce, "one_shot", 1},
    {CollectiveKind::kAllReduce, "pull", 3000},
    {CollectiveKind::kAllReduce, "pull_all", 2},
    {CollectiveKind::kAllReduce, "pull_all", 1500, 0, true},
    {CollectiveKind::kReduceScatter, "pull", 5000},
    {CollectiveKind::kReduce, "pull", 700, 1},
    {CollectiveKind::kBroadcast, "direct", 9000, 1},
    {CollectiveKind::kAllToAll, "direct", 4000},
    {CollectiveKind::kAllReduce, "ring", 1000},
    {CollectiveKind::kAllReduce, "rabenseifner", 70'001},
    {CollectiveKind::kAllReduce, "double_tree", 513, 0, true},
    {CollectiveKind::kBroadcast, "chain", 9000, 1},
    {CollectiveKind::kBroadcast, "binomial", 3, 2},
    {CollectiveKind::kReduce, "binomial", 2500, 1},
    {CollectiveKind::kReduce, "chain", 40, 0},
    {CollectiveKind::kAllGather, "ring", 1001},
    {CollectiveKind::kAllGather, "bruck", 8},
    {CollectiveKind::kReduceScatter, "ring", 777},
    {CollectiveKind::kReduceScatter, "recursive_halving", 12, 0, true},
    {CollectiveKind::kAllToAll, "pairwise", 900},
    {CollectiveKind::kAllToAll, "bruck", 5},
    {CollectiveKind::kGather, "binomial", 300, 2},
    {CollectiveKind::kScatter, "direct", 301, 1},
    {CollectiveKind::kBarrier, "dissemination", 0},
};

class AnyReach : public testing::TestWithParam<Reach> {};

TEST_P(AnyReach, EveryCollectiveCompletesInRandomOrders) {
  for (uint64_t seed = 1; seed <= (kSanitized ? 8 : 40); ++seed) {
    const uint32_t n = 3 + seed % 4;
    AnyOrder run(n, seed, GetParam());
    for (const auto& spec : kMixed) run.add(spec, first_ranks(n));
    run.shuffle();
    ASSERT_EQ(run.run(), 0u) << "seed " << seed;
    ASSERT_EQ(run.difference(), "") << "seed " << seed;
    ASSERT_EQ(run.left_behind(), 0u) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(AnyOrder, AnyReach,
                         testing::Values(Reach::kThreads, Reach::kProcesses, Reach::kPulled,
                                         Reach::kRefused));

// Tensor x data x pipeline: every rank is in three groups, and groups share ranks.
TEST(AnyOrder, OverlappingGroupsComplete) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    AnyOrder run(8, seed);
    for (uint32_t round = 0; round < 3; ++round) {
      for (uint32_t r = 0; r < 8; r += 2) {
        run.add({CollectiveKind::kAllReduce, "ring", 600 + round}, ranks({r, r + 1}));
      }
      for (uint32_t r : {0u, 1u, 4u, 5u}) {
        run.add({CollectiveKind::kAllGather, "ring", 4}, ranks({r, r + 2}));
      }
      for (uint32_t r = 0; r < 4; ++r) {
        run.add({CollectiveKind::kSendRecv, "direct", 2000}, ranks({r, r + 4}));
      }
      run.add({CollectiveKind::kAllReduce, "recursive_doubling", 2}, first_ranks(8));
    }
    run.shuffle();
    ASSERT_EQ(run.run(), 0u) << "seed " << seed;
    ASSERT_EQ(run.difference(), "") << "seed " << seed;
    ASSERT_EQ(run.left_behind(), 0u) << "seed " << seed;
  }
}

// Row i issues i, i + 1, ...: no two ranks have the same collective at the same place.
TEST(AnyOrder, LatinSquareOfEightCompletes) {
  AnyOrder run(8, 7);
  const uint64_t elems[] = {256, 147456, 2048, 1024, 65536, 147457, 7, 1};
  for (const uint64_t count : elems) {
    run.add({CollectiveKind::kAllReduce, count < 60 ? "one_shot" : "ring", count}, first_ranks(8));
  }
  std::vector<std::vector<size_t>> orders;
  for (size_t r = 0; r < 8; ++r) {
    for (size_t i = 0; i < 8; ++i) {
      if (i == 0) orders.emplace_back();
      orders.back().push_back((r + i) % 8);
    }
  }
  run.set_orders(orders);
  EXPECT_EQ(run.run(), 0u);
  EXPECT_EQ(run.difference(), "");
  EXPECT_EQ(run.left_behind(), 0u);
}

// More packets than rings have room for, to ranks that have issued none of the operations.
TEST(AnyOrder, ThousandsInFlightComplete) {
  AnyOrder run(4, 11);
  const uint64_t num = kSanitized ? 400 : 2000;
  for (uint64_t i = 0; i < num; ++i) {
    run.add({CollectiveKind::kAllReduce, i % 3 == 0 ? "ring" : "one_shot", 1 + i % 5},
            first_ranks(4));
  }
  run.shuffle();
  EXPECT_EQ(run.run(), 0u);
  EXPECT_EQ(run.difference(), "");
  EXPECT_EQ(run.num_issued(), 4 * num);
  EXPECT_EQ(run.left_behind(), 0u);
}

}  // namespace
}  // namespace tutti::test
