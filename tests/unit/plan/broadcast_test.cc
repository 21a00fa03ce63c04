#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "tests/unit/plan/plan_facts.h"

namespace tutti::plan {
namespace {

using ir::Region;
using ir::Step;
using ir::StepKind;

ir::Schedule broadcast(std::string_view algorithm, uint32_t p, uint32_t root = 0,
                       const Options& options = {}) {
  return make({.kind = CollectiveKind::kBroadcast, .num_ranks = p, .root = root}, algorithm,
              options)
      .value();
}

TEST(Broadcast, IsRightForAnyRanksAndRoot) {
  for (const uint32_t p : few_rank_counts()) {
    for (const uint32_t root : some_roots(p)) {
      expect_right(broadcast("binomial", p, root));
      expect_right(broadcast("direct", p, root));
      expect_right(broadcast("spread", p, root));
      expect_right(broadcast("scatter_all_gather", p, root));
      for (const uint32_t chunks : {1u, 3u}) {
        expect_right(broadcast("chain", p, root, {.chunks = chunks}));
        expect_right(broadcast("double_tree", p, root, {.chunks = chunks}));
      }
    }
  }
}

TEST(Broadcast, OfOneRankIsACopy) {
  for (const std::string_view algorithm :
       {"binomial", "chain", "scatter_all_gather", "double_tree", "direct", "spread"}) {
    const ir::Schedule schedule = broadcast(algorithm, 1);
    ASSERT_EQ(ir::num_steps(schedule), 1u) << algorithm;
    EXPECT_EQ(schedule.step(Rank{0}, {0, 0}).kind, StepKind::kCopy);
  }
}

TEST(BroadcastBinomial, TakesOneRoundADoubling) {
  for (const uint32_t p : rank_counts()) {
    for (const uint32_t root : some_roots(p)) {
      EXPECT_EQ(lending_time(broadcast("binomial", p, root), 100, 7), ceil_log2(p) * 107u)
          << p << " ranks, root " << root;
    }
  }
}

TEST(BroadcastBinomial, ServesTheLargestSubtreeFirstAndOneChildAtATime) {
  const ir::Schedule schedule = broadcast("binomial", 8);
  const auto& steps = schedule.ranks[4].lanes[0].steps;
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].kind, StepKind::kRecvCopySend);
  EXPECT_EQ(steps[0].recv_peer, Rank{0});
  EXPECT_EQ(steps[0].send_peer, Rank{6});
  EXPECT_EQ(steps[1].kind, StepKind::kSend);
  EXPECT_EQ(steps[1].send_peer, Rank{5});
  EXPECT_THAT(schedule.ranks[4].deps_of(steps[1]), testing::ElementsAre(ir::StepRef{0, 0}));
}

TEST(BroadcastChain, TakesOneRoundAPieceAndOneMoreARankInBetween) {
  for (const uint32_t p : {2u, 3u, 8u, 13u, 33u}) {
    for (const uint32_t k : {1u, 2u, 8u, 31u}) {
      EXPECT_EQ(lending_time(broadcast("chain", p, p / 2, {.chunks = k}), 100, 7),
                (p - 2 + k) * 107u)
          << p << " ranks, " << k << " pieces";
    }
  }
}

TEST(BroadcastChain, ForwardsPiecesInOrderAroundTheRanks) {
  const ir::Schedule schedule = broadcast("chain", 4, 2, {.chunks = 3});
  const auto& steps = schedule.ranks[3].lanes[0].steps;
  ASSERT_EQ(steps.size(), 3u);
  for (uint32_t piece = 0; piece < 3; ++piece) {
    EXPECT_EQ(steps[piece].kind, StepKind::kRecvCopySend);
    EXPECT_EQ(steps[piece].dst(), ir::output(piece));
    EXPECT_EQ(steps[piece].recv_peer, Rank{2});
    EXPECT_EQ(steps[piece].send_peer, Rank{0});
  }
  EXPECT_EQ(chunks_sent(schedule, 1), 0u) << "the rank before the root is the end of the chain";
}

// p chunks: alpha as often as the tree is deep and the ring is long; every byte nearly twice.
TEST(BroadcastScatterAllGather, TakesATreeAndARing) {
  for (const uint32_t p : rank_counts()) {
    for (const uint32_t root : some_roots(p)) {
      EXPECT_EQ(lending_time(broadcast("scatter_all_gather", p, root), 1000, 7),
                (ceil_log2(p) + p - 1) * 1000u + 2 * (p - 1) * 7u)
          << p << " ranks, root " << root;
    }
  }
}

TEST(BroadcastScatterAllGather, SendsNobodyWhatItHas) {
  for (const uint32_t p : rank_counts()) {
    const ir::Schedule schedule = broadcast("scatter_all_gather", p, p / 2);
    for (uint32_t r = 0; r < p; ++r) {
      std::vector<uint32_t> taken(p, 0);
      for (const Step* step : all_steps(schedule.ranks[r])) {
        if (!ir::receives(step->kind)) continue;
        for (uint32_t i = 0; i < step->num_chunks; ++i) ++taken[step->dst_index + i];
      }
      EXPECT_THAT(taken, testing::Each(r == p / 2 ? 0u : 1u)) << "rank " << r << " of " << p;
    }
  }
}

TEST(BroadcastSpread, EveryoneGivesEveryoneItsOwnChunk) {
  for (const uint32_t p : rank_counts()) {
    const uint32_t root = p / 2;
    const ir::Schedule schedule = broadcast("spread", p, root);
    for (uint32_t r = 0; r < p; ++r) {
      std::vector<uint32_t> given(p, 0);
      for (const Step* step : all_steps(schedule.ranks[r])) {
        if (step->kind != StepKind::kSend || step->src_buffer != ir::Buffer::kOutput) continue;
        EXPECT_EQ(step->src(), ir::output(r));
        ++given[step->send_peer.value];
      }
      for (uint32_t q = 0; q < p; ++q) EXPECT_EQ(given[q], q == r ? 0u : 1u) << r << " to " << q;
      EXPECT_EQ(chunks_sent(schedule, r), (p - 1) * (r == root ? 2u : 1u));
    }
  }
}

TEST(BroadcastDoubleTree, NobodySendsMoreThanTheMessage) {
  for (const uint32_t p : rank_counts()) {
    const ir::Schedule schedule = broadcast("double_tree", p, p - 1, {.chunks = 4});
    ASSERT_EQ(schedule.chunks_per_block, 8u);
    for (uint32_t r = 0; r < p; ++r) EXPECT_LE(chunks_sent(schedule, r), 8u) << "rank " << r;
  }
}

// Without sharing, a piece takes alpha + beta a hop: the depth of the trees, and the pieces behind.
TEST(BroadcastDoubleTree, IsAsDeepAsALogarithmAndAsLongAsItsPieces) {
  for (const uint32_t p : {2u, 3u, 4u, 5u, 9u, 16u, 33u, 64u}) {
    for (const uint32_t k : {1u, 4u, 9u}) {
      const uint32_t hops = static_cast<uint32_t>(std::bit_width(p - 1));
      EXPECT_EQ(lending_time(broadcast("double_tree", p, 1, {.chunks = k}), 100, 7),
                (hops + k - 1) * 107u)
          << p << " ranks, " << k << " pieces";
    }
  }
}

TEST(BroadcastDoubleTree, ServesSiblingsInLanesOfTheirOwn) {
  const ir::Schedule schedule = broadcast("double_tree", 8, 0, {.chunks = 2});
  // Node 3 of 0 .. 6 heads the first tree: rank 4. Its lanes there: in, out, out.
  std::vector<const ir::Lane*> lanes;
  for (const ir::Lane& lane : schedule.ranks[4].lanes) {
    if (lane.channel == 0) lanes.push_back(&lane);
  }
  ASSERT_EQ(lanes.size(), 3u);
  EXPECT_EQ(lanes[0]->steps[0].kind, StepKind::kRecv);
  EXPECT_EQ(lanes[1]->steps[0].send_peer, Rank{2});
  EXPECT_EQ(lanes[2]->steps[0].send_peer, Rank{6});
}

}  // namespace
}  // namespace tutti::plan
