#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/plan/plan_facts.h"

namespace tutti::plan {
namespace {

using ir::Buffer;
using ir::Step;
using ir::StepKind;

ir::Schedule reduce(std::string_view algorithm, uint32_t p, uint32_t root = 0,
                    const Options& options = {}) {
  return make({.kind = CollectiveKind::kReduce, .num_ranks = p, .root = root}, algorithm, options)
      .value();
}

TEST(Reduce, IsRightForAnyRanksAndRoot) {
  for (const uint32_t p : few_rank_counts()) {
    for (const uint32_t root : some_roots(p)) {
      expect_right(reduce("binomial", p, root));
      expect_right(reduce("pull", p, root));
      expect_right(reduce("spread", p, root));
      expect_right(reduce("reduce_scatter_gather", p, root));
      for (const uint32_t chunks : {1u, 2u, 5u}) {
        expect_right(reduce("chain", p, root, {.chunks = chunks}));
      }
    }
  }
}

TEST(Reduce, OfOneRankIsACopy) {
  for (const std::string_view algorithm :
       {"binomial", "chain", "reduce_scatter_gather", "pull", "spread"}) {
    const ir::Schedule schedule = reduce(algorithm, 1);
    ASSERT_EQ(ir::num_steps(schedule), 1u) << algorithm;
    EXPECT_EQ(schedule.step(Rank{0}, {0, 0}).kind, StepKind::kCopy);
  }
}

TEST(ReduceBinomial, TakesOneRoundAHalving) {
  for (const uint32_t p : rank_counts()) {
    for (const uint32_t root : some_roots(p)) {
      EXPECT_EQ(lending_time(reduce("binomial", p, root), 100, 7), ceil_log2(p) * 107u)
          << p << " ranks, root " << root;
    }
  }
}

TEST(ReduceBinomial, CombinesInTheOrderOfRanksForRootZero) {
  const ir::Schedule schedule = reduce("binomial", 8);
  const auto& at_root = schedule.ranks[0].lanes[0].steps;
  ASSERT_EQ(at_root.size(), 3u);
  EXPECT_EQ(at_root[0].src(), ir::input(0));
  EXPECT_EQ(at_root[0].recv_peer, Rank{1});
  EXPECT_EQ(at_root[1].src(), ir::output(0));
  EXPECT_EQ(at_root[1].recv_peer, Rank{2});
  EXPECT_EQ(at_root[2].recv_peer, Rank{4});
  const auto& in_between = schedule.ranks[4].lanes[0].steps;
  ASSERT_EQ(in_between.size(), 2u);
  EXPECT_EQ(in_between[0].dst(), ir::scratch(0));
  EXPECT_EQ(in_between[1].kind, StepKind::kRecvReduceCopySend);
  EXPECT_EQ(in_between[1].send_peer, Rank{0});
}

TEST(ReduceChain, TakesOneRoundAPieceAndOneMoreARankInBetween) {
  for (const uint32_t p : {2u, 3u, 8u, 13u, 33u}) {
    for (const uint32_t k : {1u, 2u, 8u, 31u}) {
      EXPECT_EQ(lending_time(reduce("chain", p, p / 2, {.chunks = k}), 100, 7), (p - 2 + k) * 107u)
          << p << " ranks, " << k << " pieces";
    }
  }
}

TEST(ReduceChain, NeedsTwoPiecesOfScratchHoweverManyFlow) {
  const ir::Schedule schedule = reduce("chain", 4, 0, {.chunks = 100});
  EXPECT_TRUE(schedule.ranks[0].scratch.empty());
  EXPECT_THAT(schedule.ranks[1].scratch, testing::ElementsAre(ir::kAnyChunk, ir::kAnyChunk));
  EXPECT_THAT(schedule.ranks[2].scratch, testing::ElementsAre(ir::kAnyChunk, ir::kAnyChunk));
  EXPECT_TRUE(schedule.ranks[3].scratch.empty());
}

TEST(ReduceReduceScatterGather, TakesARingAndATree) {
  for (const uint32_t p : rank_counts()) {
    for (const uint32_t root : some_roots(p)) {
      EXPECT_EQ(lending_time(reduce("reduce_scatter_gather", p, root), 1000, 7),
                (p - 1 + ceil_log2(p)) * 1000u + 2 * (p - 1) * 7u)
          << p << " ranks, root " << root;
    }
  }
}

TEST(ReduceReduceScatterGather, EveryRankReducesEachChunkOnceButTheOneItStarts) {
  for (const uint32_t p : rank_counts()) {
    const ir::Schedule schedule = reduce("reduce_scatter_gather", p, p / 2);
    for (uint32_t r = 0; p > 1 && r < p; ++r) {
      std::vector<uint32_t> reduced(p, 0);
      for (const Step* step : all_steps(schedule.ranks[r])) {
        if (ir::reduces(step->kind)) ++reduced[step->src_index];
      }
      for (uint32_t chunk = 0; chunk < p; ++chunk) {
        EXPECT_EQ(reduced[chunk], chunk == (r + p - 1) % p ? 0u : 1u);
      }
    }
  }
}

TEST(ReduceSpread, EveryRankAddsUpItsOwnChunkAndTheRootTakesTheSums) {
  for (const uint32_t p : rank_counts()) {
    const uint32_t root = p / 2;
    const ir::Schedule schedule = reduce("spread", p, root);
    for (uint32_t r = 0; r < p; ++r) {
      uint32_t num_added = 0;
      uint32_t num_taken = 0;
      for (const Step* step : all_steps(schedule.ranks[r])) {
        if (step->kind == StepKind::kRecv) ++num_taken;
        if (!ir::reduces(step->kind)) continue;
        ++num_added;
        EXPECT_EQ(step->dst(), r == root ? ir::output(r) : ir::scratch(0));
      }
      EXPECT_EQ(num_added, p - 1) << "rank " << r << " of " << p;
      EXPECT_EQ(num_taken, r == root ? p - 1 : 0) << "rank " << r << " of " << p;
      EXPECT_EQ(schedule.ranks[r].scratch.size(), r == root ? 0u : 1u);
    }
  }
}

TEST(Reduce, KeepsPartialResultsInScratchButAtTheRoot) {
  for (const std::string_view algorithm :
       {"binomial", "chain", "reduce_scatter_gather", "pull", "spread"}) {
    const ir::Schedule schedule = reduce(algorithm, 7, 3);
    for (uint32_t r = 0; r < 7; ++r) {
      for (const Step* step : all_steps(schedule.ranks[r])) {
        if (!ir::writes_dst(step->kind)) continue;
        EXPECT_NE(step->dst_buffer, Buffer::kInput) << algorithm << " rank " << r;
        EXPECT_TRUE(r == 3 || step->dst_buffer == Buffer::kScratch) << algorithm << " rank " << r;
      }
    }
  }
}

}  // namespace
}  // namespace tutti::plan
