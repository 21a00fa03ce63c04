// A rank goes mad and writes nonsense into its segment, hundreds of times, while collectives of all
// kinds run. Whatever it writes, the others touch no memory but their own and its segment, every
// operation ends when it is given up, and those that the mad rank has no part in are right.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/support/cluster.h"
#include "tests/support/mad_rank.h"
#include "tests/support/sanitized.h"

namespace tutti::test {
namespace {

using engine::Operation;
using engine::OperationState;

constexpr TestCollective::Spec kSpecs[] = {
    {CollectiveKind::kAllReduce, "pull_all", 2},
    {CollectiveKind::kAllReduce, "one_shot", 5},
    {CollectiveKind::kAllReduce, "pull", 3000},
    {CollectiveKind::kAllReduce, "ring", 70'001},
    {CollectiveKind::kAllReduce, "rabenseifner", 1500, 0, true},
    {CollectiveKind::kAllReduce, "double_tree", 513, 0, true},
    {CollectiveKind::kReduceScatter, "pull", 900},
    {CollectiveKind::kReduce, "binomial", 2500, 1},
    {CollectiveKind::kReduce, "pull", 40},
    {CollectiveKind::kBroadcast, "direct", 9000, 1},
    {CollectiveKind::kBroadcast, "chain", 1200},
    {CollectiveKind::kBroadcast, "binomial", 3},
    {CollectiveKind::kAllGather, "ring", 1001},
    {CollectiveKind::kAllGather, "bruck", 8},
    {CollectiveKind::kAllToAll, "direct", 4000},
    {CollectiveKind::kAllToAll, "bruck", 5},
    {CollectiveKind::kGather, "binomial", 300, 1},
    {CollectiveKind::kScatter, "direct", 301},
    {CollectiveKind::kBarrier, "dissemination", 0},
};

class Madhouse {
 public:
  Madhouse(uint64_t seed, Reach reach)
      : random_(seed),
        cluster_(3 + static_cast<uint32_t>(seed % 3), reach),
        mad_rank_(static_cast<uint32_t>(random_() % cluster_.num_ranks())),
        mad_(cluster_, mad_rank_, reach, random_) {
    std::vector<Rank> healthy;
    for (uint32_t r = 0; r < cluster_.num_ranks(); ++r) {
      if (r != mad_rank_) healthy.emplace_back(r);
    }
    for (int i = 0; i < 8; ++i) add(first_ranks(cluster_.num_ranks()));
    for (int i = 0; i < 3; ++i) add(healthy);
  }

  // Everyone issues everything in an order of its own; after each turn the mad rank may act.
  void run() {
    std::vector<std::vector<size_t>> orders(cluster_.num_ranks());
    for (auto& order : orders) {
      for (size_t c = 0; c < collectives_.size(); ++c) order.push_back(c);
      std::shuffle(order.begin(), order.end(), random_);
    }
    const int num_turns = 400 * static_cast<int>(cluster_.num_ranks());
    for (int turn = 0; turn < num_turns; ++turn) {
      const auto rank = static_cast<uint32_t>(random_() % cluster_.num_ranks());
      if (!orders[rank].empty() && random_() % 4 == 0) {
        issue(rank, orders[rank].back());
        orders[rank].pop_back();
      }
      cluster_.engine(rank).progress();
      if (random_() % 3 == 0) mad_.act();
    }
  }

  // What is left ends when it is given up, and leaves nothing behind once the communicators that
  // the mad rank was in are over. (It may have told one rank of a failure and not the others.)
  void end() {
    give_turns();
    for (const Issued& one : issued_) {
      if (one.rank == mad_rank_ || one.op == nullptr) continue;
      cluster_.engine(one.rank).give_up(one.op, ErrorCode::kDeadline);
    }
    give_turns();
    const std::vector<Rank> all = first_ranks(cluster_.num_ranks());
    for (uint32_t r = 0; r < cluster_.num_ranks(); ++r) {
      if (r == mad_rank_) continue;
      cluster_.engine(r).lose(Rank{mad_rank_}, "it went mad");
      cluster_.engine(r).abort(all.size(), all);
    }
    give_turns();
  }

  // "" when all is well.
  [[nodiscard]] std::string complaint() {
    for (const auto& collective : collectives_) {
      if (std::string text = collective->damage(); !text.empty()) return text;
    }
    for (const Issued& one : issued_) {
      const bool was_straight = one.op == nullptr;
      const OperationState state = was_straight ? OperationState::kDone : one.op->state.load();
      const TestCollective& collective = *collectives_[one.collective];
      if (one.rank == mad_rank_) continue;
      if (state == OperationState::kRunning) return "an operation was given up and still runs";
      const bool is_sane = collective.members().size() < cluster_.num_ranks();
      if (!is_sane) continue;
      if (state != OperationState::kDone) return "without the mad rank: " + one.op->error.message;
      if (std::string text = collective.difference(); !text.empty()) return text;
    }
    for (uint32_t r = 0; r < cluster_.num_ranks(); ++r) {
      engine::Engine& engine = cluster_.engine(r);
      if (r == mad_rank_) continue;
      if (engine.num_under_way() != 0) return "an operation stays under way";
      if (engine.endpoint().arena().used() + engine.endpoint().words().used() != 0) {
        return "an operation has kept its memory";
      }
    }
    return "";
  }

 private:
  struct Issued {
    uint32_t rank;
    size_t collective;
    Operation* op;
  };

  void add(const std::vector<Rank>& members) {
    TestCollective::Spec spec = kSpecs[random_() % std::size(kSpecs)];
    spec.root = std::min(spec.root, static_cast<uint32_t>(members.size()) - 1);
    collectives_.push_back(std::make_unique<TestCollective>(spec, random_(), members));
    mad_.learn(collectives_.back()->request(0));
  }

  void issue(uint32_t rank, size_t collective) {
    const auto& members = collectives_[collective]->members();
    const auto found = std::find(members.begin(), members.end(), Rank{rank});
    if (found == members.end()) return;
    auto request =
        collectives_[collective]->request(static_cast<uint32_t>(found - members.begin()));
    request.group = members.size();  // nonsense may name it
    auto op = cluster_.engine(rank).call(request, 1);
    if (op) issued_.push_back({rank, collective, *op});
  }

  void give_turns() {
    for (int turn = 0; turn < 300; ++turn) {
      for (uint32_t r = 0; r < cluster_.num_ranks(); ++r) {
        if (r != mad_rank_) cluster_.engine(r).progress();
      }
    }
  }

  std::mt19937_64 random_;
  Cluster cluster_;
  uint32_t mad_rank_;
  MadRank mad_;
  std::vector<std::unique_ptr<TestCollective>> collectives_;
  std::vector<Issued> issued_;
};

class Corruption : public testing::TestWithParam<Reach> {};

TEST_P(Corruption, OfOneRanksSegmentHurtsNobodyElse) {
  const uint64_t num_seeds = kSanitized ? 20 : 150;
  for (uint64_t seed = 1; seed <= num_seeds; ++seed) {
    Madhouse madhouse(seed, GetParam());
    madhouse.run();
    madhouse.end();
    ASSERT_EQ(madhouse.complaint(), "") << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Reaches, Corruption,
                         testing::Values(Reach::kThreads, Reach::kProcesses, Reach::kPulled));

}  // namespace
}  // namespace tutti::test
