#include <gtest/gtest.h>

#include "tests/unit/plan/plan_facts.h"

namespace tutti::plan {
namespace {

using ir::Step;
using ir::StepKind;

ir::Schedule barrier(uint32_t p) {
  return make({.kind = CollectiveKind::kBarrier, .num_ranks = p}, "dissemination", {}).value();
}
ir::Schedule send_recv(uint32_t p, uint32_t from, uint32_t to) {
  return make({.kind = CollectiveKind::kSendRecv, .num_ranks = p, .root = from, .peer = to},
              "direct", {})
      .value();
}

TEST(Barrier, LetsNobodyOutBeforeAllAreIn) {
  for (const uint32_t p : few_rank_counts()) expect_right(barrier(p));
}

TEST(Barrier, TakesARoundADoublingAndMovesNoData) {
  for (const uint32_t p : rank_counts()) {
    EXPECT_EQ(lending_time(barrier(p), 100, 7), ceil_log2(p) * 100u) << p << " ranks";
    EXPECT_EQ(ir::num_steps(barrier(p)), 2u * p * ceil_log2(p));
    EXPECT_EQ(chunks_sent(barrier(p), 0), 0u);
  }
}

TEST(Barrier, OfOneRankIsNothing) { EXPECT_EQ(ir::num_steps(barrier(1)), 0u); }

TEST(Barrier, TellsRanksAtDoublingDistance) {
  const ir::Schedule schedule = barrier(6);
  const auto& steps = schedule.ranks[5].lanes[0].steps;
  ASSERT_EQ(steps.size(), 6u);
  EXPECT_EQ(steps[0].send_peer, Rank{0});
  EXPECT_EQ(steps[1].recv_peer, Rank{4});
  EXPECT_EQ(steps[2].send_peer, Rank{1});
  EXPECT_EQ(steps[3].recv_peer, Rank{3});
  EXPECT_EQ(steps[4].send_peer, Rank{3});
  EXPECT_EQ(steps[5].recv_peer, Rank{1});
}

TEST(SendRecv, IsOneMessageBetweenAnyTwoRanks) {
  for (const uint32_t p : {2u, 3u, 7u}) {
    for (uint32_t from = 0; from < p; ++from) {
      for (uint32_t to = 0; to < p; ++to) {
        const ir::Schedule schedule = send_recv(p, from, to);
        expect_right(schedule);
        EXPECT_EQ(lending_time(schedule, 100, 7), from == to ? 0u : 107u);
      }
    }
  }
}

TEST(SendRecv, ToOneselfIsACopyAndTheOthersDoNothing) {
  const ir::Schedule schedule = send_recv(3, 1, 1);
  ASSERT_EQ(ir::num_steps(schedule), 1u);
  EXPECT_EQ(schedule.step(Rank{1}, {0, 0}).kind, StepKind::kCopy);
}

}  // namespace
}  // namespace tutti::plan
