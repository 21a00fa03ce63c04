// The promise of the engine: operations complete whatever the order in which each rank issues
// them, and whoever runs when. One thread plays all ranks, so every run can be repeated.
#include "tests/support/any_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/sanitized.h"

namespace tutti::test {
namespace {

std::vector<Rank> ranks(std::initializer_list<uint32_t> list) {
  std::vector<Rank> out;
  for (const uint32_t r : list) out.emplace_back(r);
  return out;
}

class AnyReach : public testing::TestWithParam<Reach> {};

TEST_P(AnyReach, EveryCollectiveCompletesInRandomOrders) {
  for (uint64_t seed = 1; seed <= (kSanitized ? 8 : 40); ++seed) {
    const uint32_t n = 3 + seed % 4;
    AnyOrder run(n, seed, GetParam());
    for (const auto& spec : mixed_collectives()) run.add(spec, first_ranks(n));
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
