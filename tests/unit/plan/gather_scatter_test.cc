#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/plan/plan_facts.h"

namespace tutti::plan {
namespace {

using ir::Step;
using ir::StepKind;
using testing::ElementsAre;

ir::Schedule gather(std::string_view algorithm, uint32_t p, uint32_t root = 0) {
  return make({.kind = CollectiveKind::kGather, .num_ranks = p, .root = root}, algorithm, {})
      .value();
}
ir::Schedule scatter(std::string_view algorithm, uint32_t p, uint32_t root = 0) {
  return make({.kind = CollectiveKind::kScatter, .num_ranks = p, .root = root}, algorithm, {})
      .value();
}

// What a rank receives, or sends, in the order of its lanes: (peer, first position, positions).
using Message = std::tuple<uint32_t, uint32_t, uint32_t>;
std::vector<Message> received(const ir::Schedule& schedule, uint32_t rank) {
  std::vector<Message> messages;
  for (const Step* step : all_steps(schedule.ranks[rank])) {
    if (!ir::receives(step->kind)) continue;
    messages.emplace_back(step->recv_peer.value, step->dst_index, step->num_chunks);
  }
  return messages;
}
std::vector<Message> sent(const ir::Schedule& schedule, uint32_t rank) {
  std::vector<Message> messages;
  for (const Step* step : all_steps(schedule.ranks[rank])) {
    if (!ir::sends(step->kind)) continue;
    messages.emplace_back(step->send_peer.value, step->src_index, step->num_chunks);
  }
  return messages;
}

TEST(Gather, IsRightForAnyRanksAndRoot) {
  for (const uint32_t p : few_rank_counts()) {
    for (const uint32_t root : some_roots(p)) {
      expect_right(gather("direct", p, root));
      expect_right(gather("binomial", p, root));
    }
  }
}

TEST(Scatter, IsRightForAnyRanksAndRoot) {
  for (const uint32_t p : few_rank_counts()) {
    for (const uint32_t root : some_roots(p)) {
      expect_right(scatter("direct", p, root));
      expect_right(scatter("binomial", p, root));
    }
  }
}

TEST(GatherAndScatter, OfOneRankAreACopy) {
  for (const std::string_view algorithm : {"direct", "binomial"}) {
    for (const ir::Schedule& schedule : {gather(algorithm, 1), scatter(algorithm, 1)}) {
      ASSERT_EQ(ir::num_steps(schedule), 1u) << describe(schedule);
      EXPECT_EQ(schedule.step(Rank{0}, {0, 0}).kind, StepKind::kCopy);
    }
  }
}

TEST(GatherAndScatterDirect, HaveALaneAPeerAtTheRoot) {
  for (const ir::Schedule& schedule : {gather("direct", 5, 2), scatter("direct", 5, 2)}) {
    EXPECT_EQ(schedule.ranks[2].lanes.size(), 5u);
    EXPECT_EQ(lending_time(schedule, 100, 7), 107u);
  }
}

// alpha a level of the tree; the root's link carries every block but its own, once.
TEST(GatherAndScatterBinomial, PayAlphaALevelAndEachBlockOnceForAnyRoot) {
  for (const uint32_t p : rank_counts()) {
    for (uint32_t root = 0; root < p; ++root) {
      const uint64_t time = ceil_log2(p) * 1000u + (p - 1) * 7u;
      EXPECT_EQ(lending_time(gather("binomial", p, root), 1000, 7), time) << p << " root " << root;
      EXPECT_EQ(lending_time(scatter("binomial", p, root), 1000, 7), time) << p << " root " << root;
    }
  }
}

TEST(GatherBinomial, TakesTheSmallestSubtreeFirstAndEachAsOneMessage) {
  EXPECT_THAT(received(gather("binomial", 8), 0),
              ElementsAre(Message{1, 1, 1}, Message{2, 2, 2}, Message{4, 4, 4}));
  EXPECT_THAT(received(gather("binomial", 7, 3), 3),
              ElementsAre(Message{2, 2, 1}, Message{0, 0, 2}, Message{4, 4, 3}));
}

TEST(ScatterBinomial, GivesTheLargestSubtreeFirstAndEachAsOneMessage) {
  EXPECT_THAT(sent(scatter("binomial", 8), 0),
              ElementsAre(Message{4, 4, 4}, Message{2, 2, 2}, Message{1, 1, 1}));
  EXPECT_THAT(sent(scatter("binomial", 7, 3), 3),
              ElementsAre(Message{4, 4, 3}, Message{0, 0, 2}, Message{2, 2, 1}));
}

TEST(GatherAndScatterBinomial, NameTheirScratchByTheBlocksThatLieThere) {
  for (const ir::Schedule& schedule : {gather("binomial", 8), scatter("binomial", 8)}) {
    EXPECT_THAT(schedule.ranks[4].scratch,
                ElementsAre(ChunkId{4}, ChunkId{5}, ChunkId{6}, ChunkId{7}));
    EXPECT_TRUE(schedule.ranks[0].scratch.empty()) << "the root has its own buffer";
    EXPECT_TRUE(schedule.ranks[7].scratch.empty()) << "a leaf needs none";
  }
}

}  // namespace
}  // namespace tutti::plan
