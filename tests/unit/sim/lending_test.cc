// When steps begin and end under lending, by schedules small enough to do in one's head.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/sim/machines.h"

namespace tutti::sim {
namespace {

using ir::Builder;
using ir::input;
using ir::LaneWriter;
using ir::output;
using ir::scratch;
using ir::StepRef;

Collective send_recv() {
  return {.kind = CollectiveKind::kSendRecv, .num_ranks = 2, .root = 0, .peer = 1};
}
Collective broadcast(uint32_t num_ranks) {
  return {.kind = CollectiveKind::kBroadcast, .num_ranks = num_ranks};
}
Collective all_reduce(uint32_t num_ranks) {
  return {.kind = CollectiveKind::kAllReduce, .num_ranks = num_ranks};
}

ir::Schedule one_message() {
  Builder b(send_recv(), {.name = "one_message"});
  b.add_lane(Rank{0}).send(input(0), Rank{1});
  b.add_lane(Rank{1}).recv(output(0), Rank{0});
  return std::move(b).finish();
}

TEST(Lending, BeginsATransferWhenBothEndsAreReady) {
  for (const uint32_t late : {0u, 1u}) {
    Options options{.bytes = 800};
    options.start_skew = {{Rank{late}, 1234}};
    const Report report = simulated(one_message(), full_mesh(2), options);
    EXPECT_DOUBLE_EQ(report.total_ns, 1234 + message_ns(800)) << "late: " << late;
    EXPECT_EQ(report.num_messages, 1u);
    EXPECT_EQ(report.message_bytes, 800);
  }
}

TEST(Lending, LetsTheSenderGoOnBeforeTheMessageIsTaken) {
  Options options{.bytes = 800};
  options.start_skew = {{Rank{1}, 1000}};
  const Report report = simulated(one_message(), full_mesh(2), options);
  EXPECT_EQ(report.rank_finish_ns[0], 0);
  EXPECT_DOUBLE_EQ(report.rank_finish_ns[1], 1000 + message_ns(800));
}

TEST(Lending, CompletesASendWhenItsDataHasArrived) {
  Builder b(send_recv(), {.name = "overwrite"});
  b.add_scratch(Rank{0}, ChunkId{0});
  LaneWriter sender = b.add_lane(Rank{0});
  const StepRef sent = sender.send(input(0), Rank{1});
  sender.copy(input(0), scratch(0), {sent});
  b.add_lane(Rank{1}).recv(output(0), Rank{0});
  const Report report =
      simulated(std::move(b).finish(), full_mesh(2), {.bytes = 800, .copy_gbps = 4});
  EXPECT_DOUBLE_EQ(report.rank_finish_ns[1], message_ns(800));
  EXPECT_DOUBLE_EQ(report.rank_finish_ns[0], message_ns(800) + 200);
}

TEST(Lending, CompletesASendBeforeTheTakerHasReduced) {
  Builder b(all_reduce(2), {.name = "one_way"});
  b.add_scratch(Rank{0}, ChunkId{0});
  LaneWriter sender = b.add_lane(Rank{0});
  const StepRef sent = sender.send(input(0), Rank{1});
  sender.copy(input(0), scratch(0), {sent});
  b.add_lane(Rank{1}).recv_reduce(input(0), output(0), Rank{0});
  const Report report = simulated(std::move(b).finish(), full_mesh(2, 2), {.bytes = 800});
  EXPECT_DOUBLE_EQ(report.rank_finish_ns[0], message_ns(800));
  EXPECT_DOUBLE_EQ(report.rank_finish_ns[1], message_ns(800) + 400);
}

TEST(Lending, StoresAndForwardsWholeChunks) {
  Builder b(broadcast(3), {.name = "chain"});
  b.add_lane(Rank{0}).send(input(0), Rank{1});
  b.add_lane(Rank{1}).recv_copy_send(output(0), Rank{0}, Rank{2});
  b.add_lane(Rank{2}).recv(output(0), Rank{1});
  const Report report = simulated(std::move(b).finish(), full_mesh(3), {.bytes = 800});
  EXPECT_DOUBLE_EQ(report.total_ns, 2 * message_ns(800));
}

ir::Schedule pass_on_chain(uint32_t p) {
  Builder b(all_reduce(p), {.name = "pass_on"});
  b.add_lane(Rank{0}).send(input(0), Rank{1});
  for (uint32_t r = 1; r + 1 < p; ++r) {
    b.add_lane(Rank{r}).recv_reduce_send(input(0), Rank{r - 1}, Rank{r + 1});
  }
  b.add_lane(Rank{p - 1}).recv_reduce(input(0), output(0), Rank{p - 2});
  return std::move(b).finish();
}

TEST(Lending, RunsStepsThatKeepNothingInOneMomentWithTheirTaker) {
  for (const uint32_t p : {3u, 4u, 9u}) {
    const Report report = simulated(pass_on_chain(p), full_mesh(p), {.bytes = 800});
    EXPECT_DOUBLE_EQ(report.total_ns, (p - 1) * kAlpha + 800 / kGbps) << p;
    EXPECT_EQ(report.num_messages, p - 1);
    // Nobody of the chain is done before all are.
    EXPECT_DOUBLE_EQ(report.rank_finish_ns[1], report.total_ns);
  }
}

TEST(Lending, WaitsForTheWholeChainToStandReady) {
  for (const uint32_t late : {0u, 1u, 2u, 3u}) {
    Options options{.bytes = 800};
    options.start_skew = {{Rank{late}, 777}};
    const Report report = simulated(pass_on_chain(4), full_mesh(4), options);
    EXPECT_DOUBLE_EQ(report.total_ns, 777 + 3 * kAlpha + 800 / kGbps) << late;
  }
}

TEST(Lending, PassesOnNoFasterThanTheReductionOnTheWay) {
  // Two in the middle reduce at 2 bytes a ns while the data passes; the last reduces afterwards.
  const Report report = simulated(pass_on_chain(4), full_mesh(4, 2), {.bytes = 800});
  EXPECT_DOUBLE_EQ(report.total_ns, 3 * kAlpha + 800 / 2.0 + 800 / 2.0);
}

TEST(Lending, TakesNoTimeBetweenRanksOfOneDevice) {
  topo::Topology topology = full_mesh(1);
  topology.ranks.push_back(topology.ranks[0]);
  const Report report = simulated(one_message(), topology, {.bytes = 1 << 20});
  EXPECT_EQ(report.total_ns, 0);
  EXPECT_EQ(report.num_messages, 1u);
}

TEST(Lending, ChargesTheOverheadOfEveryStepOnTheWay) {
  Options options{.bytes = 800};
  options.step_overhead_ns = 10;
  // Both have their overhead at once, then the message moves.
  EXPECT_DOUBLE_EQ(simulated(one_message(), full_mesh(2), options).total_ns, 10 + message_ns(800));
}

TEST(Lending, SlowsAllThatASlowRankDoes) {
  Builder b(all_reduce(2), {.name = "one_way"});
  b.add_lane(Rank{0}).send(input(0), Rank{1});
  b.add_lane(Rank{1}).recv_reduce(input(0), output(0), Rank{0});
  const ir::Schedule schedule = std::move(b).finish();
  Options options{.bytes = 800};
  options.step_overhead_ns = 10;
  options.slow_ranks = {{Rank{1}, 4}};
  const double ns = 4 * 10 + kAlpha + 800 / (kGbps / 4) + 4 * 800 / 2.0;
  EXPECT_DOUBLE_EQ(simulated(schedule, full_mesh(2, 2), options).total_ns, ns);
  // The rank it talks to is held up by the transfer only.
  options.slow_ranks = {{Rank{0}, 4}};
  const double other_ns = 4 * 10 + kAlpha + 800 / (kGbps / 4) + 800 / 2.0;
  EXPECT_DOUBLE_EQ(simulated(schedule, full_mesh(2, 2), options).total_ns, other_ns);
}

TEST(Lending, SlowsWhatCrossesASlowLink) {
  Options options{.bytes = 800};
  options.slow_links = {{topo::LinkId{0}, 5}};
  EXPECT_DOUBLE_EQ(simulated(one_message(), full_mesh(2), options).total_ns,
                   kAlpha + 800 / (kGbps / 5));
  options.slow_links = {{topo::LinkId{1}, 5}};  // the way back
  EXPECT_DOUBLE_EQ(simulated(one_message(), full_mesh(2), options).total_ns, message_ns(800));
}

TEST(Lending, SharesTheIngressOfARankThatTakesFromTwo) {
  Builder b({.kind = CollectiveKind::kGather, .num_ranks = 3}, {.name = "direct"});
  for (uint32_t r : {1u, 2u}) {
    b.add_lane(Rank{r}).send(input(0), Rank{0});
    b.add_lane(Rank{0}).recv(output(r), Rank{r});
  }
  const ir::Schedule schedule = std::move(b).finish();
  const Report report = simulated(schedule, star(3), {.bytes = 2400});
  EXPECT_DOUBLE_EQ(report.total_ns, kAlpha + 1600 / kGbps);
  const LinkUse into_root = report.links[1];
  EXPECT_EQ(into_root.bytes, 1600);
  EXPECT_DOUBLE_EQ(into_root.busy_ns, 1600 / kGbps);
  EXPECT_DOUBLE_EQ(into_root.utilisation, 1600 / kGbps / report.total_ns);
  EXPECT_EQ(report.links[0].bytes, 0);
}

TEST(Lending, ReportsWhoWaitsForWhom) {
  Options options{.bytes = 800};
  options.start_skew = {{Rank{0}, 1234}};
  const Report report = simulated(one_message(), full_mesh(2), options);
  ASSERT_EQ(report.waits.size(), 1u);
  EXPECT_EQ(report.waits[0].rank, Rank{1});
  EXPECT_EQ(report.waits[0].on, Rank{0});
  EXPECT_DOUBLE_EQ(report.waits[0].ns, 1234);
  EXPECT_DOUBLE_EQ(report.rank_wait_ns[1], 1234);
  EXPECT_EQ(report.rank_wait_ns[0], 0);
}

}  // namespace
}  // namespace tutti::sim
