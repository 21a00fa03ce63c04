#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/plan/expect_proved.h"
#include "tests/unit/plan/reduction_trees.h"

namespace tutti::plan {
namespace {

using ir::StepKind;

constexpr std::string_view kReduceScatters[] = {"ring", "recursive_halving", "pairwise", "direct"};
constexpr uint64_t kScatterAlpha = 1000;
constexpr uint64_t kScatterBeta = 7;

ir::Schedule reduce_scatter(std::string_view algorithm, uint32_t p, const Options& options = {}) {
  return make({.kind = CollectiveKind::kReduceScatter, .num_ranks = p}, algorithm, options).value();
}

TEST(ReduceScatter, IsProvedAndRightForAnyRanks) {
  for (const uint32_t p : rank_counts()) {
    for (const std::string_view algorithm : kReduceScatters) {
      expect_proved_and_right(reduce_scatter(algorithm, p));
    }
    for (const uint32_t chunks : {2u, 5u}) {
      expect_proved_and_right(reduce_scatter("ring", p, {.chunks = chunks}));
    }
  }
}

TEST(ReduceScatter, OfOneRankIsACopy) {
  for (const std::string_view algorithm : kReduceScatters) {
    const ir::Schedule schedule = reduce_scatter(algorithm, 1);
    ASSERT_EQ(ir::num_steps(schedule), 1u) << algorithm;
    EXPECT_EQ(schedule.step(Rank{0}, {0, 0}).kind, StepKind::kCopy);
  }
}

TEST(ReduceScatter, SendsNoBlockMoreThanNeeded) {
  for (const uint32_t p : rank_counts()) {
    for (const std::string_view algorithm : kReduceScatters) {
      const ir::Schedule schedule = reduce_scatter(algorithm, p);
      for (uint32_t r = 0; r < p; ++r) {
        EXPECT_EQ(chunks_sent(schedule, r), p - 1) << algorithm << " " << p;
      }
    }
  }
}

TEST(ReduceScatterRing, TakesOneRoundARank) {
  for (const uint32_t p : rank_counts()) {
    EXPECT_EQ(lending_time(reduce_scatter("ring", p), kScatterAlpha, kScatterBeta),
              (p - 1) * (kScatterAlpha + kScatterBeta));
  }
}

TEST(ReduceScatterRing, NeedsTwoChunksOfScratchAPieceHoweverManyRanks) {
  EXPECT_EQ(max_scratch(reduce_scatter("ring", 2)), 0u);
  EXPECT_EQ(max_scratch(reduce_scatter("ring", 3)), 1u);
  for (const uint32_t p : {4u, 5u, 33u}) {
    EXPECT_THAT(reduce_scatter("ring", p).ranks[1].scratch,
                testing::ElementsAre(ir::kAnyChunk, ir::kAnyChunk));
  }
  EXPECT_EQ(max_scratch(reduce_scatter("ring", 5, {.chunks = 4})), 8u);
}

TEST(ReduceScatterRing, WaitsForATravelPositionToBeFree) {
  ir::Schedule schedule = reduce_scatter("ring", 6);
  expect_proved(schedule);
  for (ir::RankProgram& program : schedule.ranks) {
    for (ir::Step& step : program.lanes[0].steps) step.first_dep = step.num_deps = 0;
    program.deps.clear();
  }
  const verify::Verdict verdict = verify::check(schedule);
  ASSERT_FALSE(verdict.proved());
  EXPECT_EQ(verdict.refusal().rule, verify::Rule::kHazard);
}

TEST(ReduceScatterRecursiveHalving, TakesLog2RoundsForPowersOfTwo) {
  for (const uint32_t p : {2u, 4u, 8u, 16u, 32u, 64u}) {
    EXPECT_EQ(lending_time(reduce_scatter("recursive_halving", p), kScatterAlpha, kScatterBeta),
              ceil_log2(p) * kScatterAlpha + (p - 1) * kScatterBeta);
  }
}

TEST(ReduceScatterRecursiveHalving, HasAtMostFourMessagesMoreOnTheCriticalPathElsewhere) {
  for (uint32_t p = 3; p <= 130; ++p) {
    EXPECT_LE(lending_time(reduce_scatter("recursive_halving", p), 1, 0), ceil_log2(p) + 4) << p;
  }
}

TEST(ReduceScatterRecursiveHalving, NeedsScratchForHalfTheBlocksNamedByThem) {
  EXPECT_EQ(max_scratch(reduce_scatter("recursive_halving", 2)), 0u);
  for (const uint32_t p : {4u, 7u, 16u, 33u}) {
    EXPECT_EQ(max_scratch(reduce_scatter("recursive_halving", p)), (p + 1) / 2);
  }
  EXPECT_THAT(reduce_scatter("recursive_halving", 8).ranks[5].scratch,
              testing::ElementsAre(ChunkId{4}, ChunkId{5}, ChunkId{6}, ChunkId{7}));
}

TEST(ReduceScatterPairwise, TakesOneRoundARankWithoutScratch) {
  for (const uint32_t p : rank_counts()) {
    const ir::Schedule schedule = reduce_scatter("pairwise", p);
    EXPECT_EQ(lending_time(schedule, kScatterAlpha, kScatterBeta),
              (p - 1) * (kScatterAlpha + kScatterBeta));
    EXPECT_EQ(max_scratch(schedule), 0u);
  }
}

TEST(ReduceScatterPairwise, SendsOneBlockAtATime) {
  const ir::Schedule schedule = reduce_scatter("pairwise", 5);
  for (const ir::RankProgram& program : schedule.ranks) {
    const auto& steps = program.lanes[0].steps;
    for (uint32_t i = 2; i < steps.size(); i += 2) {
      ASSERT_EQ(steps[i].kind, StepKind::kSend);
      EXPECT_THAT(program.deps_of(steps[i]), testing::ElementsAre(ir::StepRef{0, i - 2}));
    }
  }
}

TEST(ReduceScatterDirect, TakesOneRoundAndReducesInRankOrderWhoeverOwnsTheBlock) {
  for (const uint32_t p : {2u, 3u, 8u, 13u}) {
    const ir::Schedule schedule = reduce_scatter("direct", p);
    EXPECT_EQ(lending_time(schedule, kScatterAlpha, kScatterBeta), kScatterAlpha + kScatterBeta);
    EXPECT_EQ(max_scratch(schedule), p - 1);
    ReductionTrees trees(schedule);
    for (uint32_t r = 0; r < p; ++r) {
      EXPECT_EQ(trees.output(r, 0), trees.in_rank_order(ChunkId{r})) << r << " of " << p;
    }
  }
}

}  // namespace
}  // namespace tutti::plan
