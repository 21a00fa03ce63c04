#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/plan/expect_proved.h"
#include "tests/unit/plan/reduction_trees.h"

namespace tutti::plan {
namespace {

using ir::StepKind;
using testing::HasSubstr;

constexpr std::string_view kAllReduces[] = {"ring",     "recursive_doubling", "rabenseifner",
                                            "one_shot", "two_shot",           "two_level",
                                            "pull",     "double_tree"};
constexpr uint64_t kReduceAlpha = 1000;
constexpr uint64_t kReduceBeta = 7;

ir::Schedule all_reduce(std::string_view algorithm, uint32_t p, const Options& options = {}) {
  return make({.kind = CollectiveKind::kAllReduce, .num_ranks = p}, algorithm, options).value();
}

TEST(AllReduce, IsProvedAndRightForAnyRanks) {
  for (const uint32_t p : rank_counts()) {
    for (const std::string_view algorithm : kAllReduces) {
      expect_proved_and_right(all_reduce(algorithm, p));
    }
    for (const uint32_t chunks : {1u, 2u, 5u}) {
      expect_proved_and_right(all_reduce("ring", p, {.chunks = chunks}));
      expect_proved_and_right(all_reduce("double_tree", p, {.chunks = chunks}));
    }
  }
}

TEST(AllReduce, OfOneRankIsACopy) {
  for (const std::string_view algorithm : kAllReduces) {
    const ir::Schedule schedule = all_reduce(algorithm, 1);
    ASSERT_EQ(ir::num_steps(schedule), 1u) << algorithm;
    EXPECT_EQ(schedule.step(Rank{0}, {0, 0}).kind, StepKind::kCopy);
  }
}

TEST(AllReduce, ReducesEveryChunkInTheSameOrderForAllRanks) {
  for (const std::string_view algorithm : kAllReduces) {
    for (const uint32_t p : {2u, 3u, 5u, 8u, 13u, 24u}) {
      const ir::Schedule schedule = all_reduce(algorithm, p);
      ReductionTrees trees(schedule);
      for (uint32_t chunk = 0; chunk < schedule.chunks_per_block; ++chunk) {
        for (uint32_t r = 1; r < p; ++r) {
          ASSERT_EQ(trees.output(r, chunk), trees.output(0, chunk))
              << algorithm << " of " << p << ": ranks 0 and " << r << ", chunk " << chunk;
        }
      }
    }
  }
}

TEST(AllReduce, OfOneAndTwoShotsReducesInRankOrder) {
  for (const std::string_view algorithm : {"one_shot", "two_shot", "pull_all"}) {
    const ir::Schedule schedule = all_reduce(algorithm, 9);
    ReductionTrees trees(schedule);
    for (uint32_t chunk = 0; chunk < schedule.chunks_per_block; ++chunk) {
      EXPECT_EQ(trees.output(4, chunk), trees.in_rank_order(ChunkId{chunk})) << algorithm;
    }
  }
}

TEST(AllReduce, CopiesNothingWhereASumCanBeWrittenToItsPlace) {
  for (const std::string_view algorithm :
       {"ring", "recursive_doubling", "rabenseifner", "two_level", "double_tree"}) {
    const ir::Schedule schedule = all_reduce(algorithm, 12);
    for (const ir::RankProgram& program : schedule.ranks) {
      for (const ir::Step* step : all_steps(program)) {
        EXPECT_NE(step->kind, StepKind::kCopy) << algorithm;
      }
    }
  }
}

TEST(AllReduceRing, TakesExactlyTheTextbookTime) {
  for (const uint32_t p : rank_counts()) {
    EXPECT_EQ(lending_time(all_reduce("ring", p), kReduceAlpha, kReduceBeta),
              2 * (p - 1) * (kReduceAlpha + kReduceBeta));
  }
}

TEST(AllReduceRing, ReducesEveryChunkButItsOwnFirstOnceARankWithoutScratch) {
  for (const uint32_t p : {2u, 3u, 8u, 13u}) {
    const ir::Schedule schedule = all_reduce("ring", p, {.chunks = 2});
    EXPECT_EQ(max_scratch(schedule), 0u);
    for (uint32_t r = 0; r < p; ++r) {
      uint32_t reduced = 0;
      for (const ir::Step* step : all_steps(schedule.ranks[r])) {
        reduced += ir::reduces(step->kind) ? 1 : 0;
        EXPECT_EQ(step->num_chunks, 1u);
      }
      EXPECT_EQ(reduced, 2 * (p - 1));
      EXPECT_EQ(num_messages_sent(schedule.ranks[r]), 2 * 2 * (p - 1));
    }
  }
}

TEST(AllReduceRing, HasOneStepAMessageAndOneMoreToStart) {
  EXPECT_EQ(ir::num_steps(all_reduce("ring", 64)), 64u * (2 * 63 + 1));
}

TEST(AllReduceRing, RefusesMoreChunksThanCanBeNumbered) {
  const auto refused = make({.kind = CollectiveKind::kAllReduce, .num_ranks = 1u << 16}, "ring",
                            {.chunks = 1u << 16});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("fewer chunks"));
}

TEST(AllReduce, RefusesMoreThan65536Chunks) {
  for (const std::string_view algorithm : {"ring", "double_tree"}) {
    const auto refused =
        make({.kind = CollectiveKind::kAllReduce, .num_ranks = 2}, algorithm, {.chunks = 65537});
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, HasSubstr("at most 65536"));
  }
}

TEST(AllReduceRecursiveDoubling, TakesLog2RoundsAndTwoMoreToFold) {
  for (const uint32_t p : rank_counts()) {
    const uint32_t rounds = floor_log2(p) + (std::has_single_bit(p) ? 0 : 2);
    EXPECT_EQ(lending_time(all_reduce("recursive_doubling", p), kReduceAlpha, kReduceBeta),
              rounds * (kReduceAlpha + kReduceBeta))
        << p;
  }
}

TEST(AllReduceRecursiveDoubling, NeedsTwoMessagesOfScratchAtMost) {
  for (const auto& [p, places] : {std::pair{2u, 1u}, {4u, 1u}, {8u, 2u}, {64u, 2u}, {33u, 2u}}) {
    EXPECT_EQ(max_scratch(all_reduce("recursive_doubling", p)), places) << p;
  }
}

TEST(AllReduceRabenseifner, TakesTheTextbookTimeForPowersOfTwo) {
  for (const uint32_t p : {2u, 4u, 8u, 16u, 32u, 64u}) {
    EXPECT_EQ(lending_time(all_reduce("rabenseifner", p), kReduceAlpha, kReduceBeta),
              2 * (ceil_log2(p) * kReduceAlpha + (p - 1) * kReduceBeta));
  }
}

TEST(AllReduceRabenseifner, HasAtMostFourMessagesMoreOnTheCriticalPathElsewhere) {
  for (uint32_t p = 3; p <= 130; ++p) {
    EXPECT_LE(lending_time(all_reduce("rabenseifner", p), 1, 0), 2 * ceil_log2(p) + 4) << p;
  }
}

TEST(AllReduceOneShot, TakesOneRound) {
  for (const uint32_t p : {2u, 7u, 16u}) {
    const ir::Schedule schedule = all_reduce("one_shot", p);
    EXPECT_EQ(lending_time(schedule, kReduceAlpha, kReduceBeta), kReduceAlpha + kReduceBeta);
    EXPECT_EQ(max_scratch(schedule), p - 1);
  }
}

TEST(AllReduceTwoShot, TakesTwoRounds) {
  for (const uint32_t p : {2u, 7u, 16u}) {
    const ir::Schedule schedule = all_reduce("two_shot", p);
    EXPECT_EQ(lending_time(schedule, kReduceAlpha, kReduceBeta), 2 * (kReduceAlpha + kReduceBeta));
    for (uint32_t r = 0; r < p; ++r) EXPECT_EQ(chunks_sent(schedule, r), 2 * (p - 1));
  }
}

TEST(AllReduceTwoLevel, IsProvedAndRightForAnyGroupSize) {
  for (uint32_t p = 1; p <= 13; ++p) {
    for (uint32_t g = 1; g <= p; ++g) {
      expect_proved_and_right(all_reduce("two_level", p, {.group_size = g}));
    }
  }
  for (const uint32_t g : {1u, 3u, 7u, 8u, 15u, 16u, 32u, 64u}) {
    expect_proved(all_reduce("two_level", 64, {.group_size = g}));
  }
}

TEST(AllReduceTwoLevel, TakesTheRoundsOfItsLevels) {
  for (const uint32_t g : {1u, 2u, 3u, 6u}) {
    for (const uint32_t n : {1u, 2u, 4u, 16u}) {
      const ir::Schedule schedule = all_reduce("two_level", g * n, {.group_size = g});
      EXPECT_EQ(lending_time(schedule, kReduceAlpha, kReduceBeta),
                2 * (g - 1) * (kReduceAlpha + n * kReduceBeta) +
                    2 * (ceil_log2(n) * kReduceAlpha + (n - 1) * kReduceBeta))
          << n << " nodes of " << g;
    }
  }
}

TEST(AllReduceTwoLevel, SendsAcrossNodesOnlyBetweenTheOwnersOfAShard) {
  const ir::Schedule schedule = all_reduce("two_level", 24, {.group_size = 6});
  for (uint32_t r = 0; r < 24; ++r) {
    uint64_t across = 0;
    for (const ir::Step* step : all_steps(schedule.ranks[r])) {
      if (!ir::sends(step->kind) || step->send_peer.value / 6 == r / 6) continue;
      EXPECT_EQ(step->send_peer.value % 6, r % 6);
      across += step->num_chunks;
    }
    EXPECT_EQ(across, 2u * 3);  // 2 (N-1)/N of its shard, which is N = 4 chunks
  }
}

TEST(AllReduceTwoLevel, HasFewStepsForManyRanks) {
  const ir::Schedule schedule = all_reduce("two_level", 27600, {.group_size = 6});
  EXPECT_LT(ir::num_steps(schedule), 27600u * 75);
  EXPECT_EQ(max_scratch(schedule), 0u);
}

TEST(AllReduceTwoLevel, TakesNodesOf8UnlessTold) {
  EXPECT_EQ(all_reduce("two_level", 24), all_reduce("two_level", 24, {.group_size = 8}));
  EXPECT_EQ(all_reduce("two_level", 5), all_reduce("two_level", 5, {.group_size = 5}));
}

TEST(AllReduceTwoLevel, RefusesAGroupLargerThanAllRanks) {
  const auto refused =
      make({.kind = CollectiveKind::kAllReduce, .num_ranks = 4}, "two_level", {.group_size = 5});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.error().message,
            "two_level: group_size 5 is more than the 4 ranks; take at most 4");
}

TEST(AllReduceDoubleTree, IsAsDeepAsItsTreesAndAsLongAsItsPieces) {
  for (const uint32_t p : rank_counts()) {
    for (const uint32_t k : {1u, 8u, 31u}) {
      const ir::Schedule schedule = all_reduce("double_tree", p, {.chunks = k});
      EXPECT_LE(lending_time(schedule, 1, 0), 3 * floor_log2(p) + 2 * k) << p << " " << k;
    }
  }
}

TEST(AllReduceDoubleTree, SendsTwiceTheMessageAtMost) {
  for (const uint32_t p : rank_counts()) {
    const ir::Schedule schedule = all_reduce("double_tree", p, {.chunks = 4});
    for (uint32_t r = 0; r < p; ++r) EXPECT_LE(chunks_sent(schedule, r), 2u * 8) << p;
  }
}

}  // namespace
}  // namespace tutti::plan
