#include <gtest/gtest.h>

#include "tests/unit/sim/machines.h"

namespace tutti::sim {
namespace {

using ir::Builder;
using ir::input;
using ir::LaneWriter;
using ir::output;

struct Expected {
  SliceKind kind;
  uint32_t rank;
  double ns;
};

void expect_path(const Report& report, const std::vector<Expected>& expected) {
  ASSERT_EQ(report.critical_path.size(), expected.size());
  double at = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const Slice& slice = report.critical_path[i];
    EXPECT_EQ(to_string(slice.kind), to_string(expected[i].kind)) << i;
    EXPECT_EQ(slice.rank, Rank{expected[i].rank}) << i;
    EXPECT_EQ(slice.begin_ns, at) << i;
    EXPECT_NEAR(slice.end_ns - slice.begin_ns, expected[i].ns, 1e-9) << i;
    at = slice.end_ns;
  }
  EXPECT_EQ(at, report.total_ns);
}

// 0 -> 1 -> 2, reducing at each, which takes as long as the bytes on the link.
ir::Schedule reduce_chain() {
  Builder b({.kind = CollectiveKind::kReduce, .num_ranks = 3, .root = 2}, {.name = "chain"});
  b.add_scratch(Rank{1}, ChunkId{0});
  b.add_lane(Rank{0}).send(input(0), Rank{1});
  b.add_lane(Rank{1}).recv_reduce_copy_send(input(0), ir::scratch(0), Rank{0}, Rank{2});
  b.add_lane(Rank{2}).recv_reduce(input(0), output(0), Rank{1});
  return std::move(b).finish();
}

TEST(CriticalPath, FollowsTheDataThroughLatencyTransferAndReduction) {
  for (const Discipline discipline : {Discipline::kLending, Discipline::kSlots}) {
    const Report report =
        simulated(reduce_chain(), full_mesh(3, kGbps), {.bytes = 800, .discipline = discipline});
    expect_path(report, {{SliceKind::kLatency, 1, kAlpha},
                         {SliceKind::kTransfer, 1, 100},
                         {SliceKind::kReduce, 1, 100},
                         {SliceKind::kLatency, 2, kAlpha},
                         {SliceKind::kTransfer, 2, 100},
                         {SliceKind::kReduce, 2, 100}});
    EXPECT_EQ(report.critical_path[0].peer, Rank{0});
  }
}

TEST(CriticalPath, BeginsWithTheWaitForALateRank) {
  for (const Discipline discipline : {Discipline::kLending, Discipline::kSlots}) {
    Options options{.bytes = 800, .discipline = discipline};
    options.start_skew = {{Rank{0}, 3000}};
    const Report report = simulated(reduce_chain(), full_mesh(3), options);
    ASSERT_EQ(report.critical_path.size(), 5u);
    EXPECT_EQ(report.critical_path[0].kind, SliceKind::kWait);
    EXPECT_EQ(report.critical_path[0].rank, Rank{0});
    EXPECT_EQ(report.critical_path[0].end_ns, 3000);
  }
}

TEST(CriticalPath, GoesThroughALateReceiver) {
  Options options{.bytes = 800};
  options.start_skew = {{Rank{2}, 5000}};
  expect_path(simulated(reduce_chain(), full_mesh(3), options), {{SliceKind::kWait, 2, 5000},
                                                                 {SliceKind::kLatency, 2, kAlpha},
                                                                 {SliceKind::kTransfer, 2, 100}});
}

TEST(CriticalPath, ShowsTheOverheadOfItsSteps) {
  Options options{.bytes = 800};
  options.step_overhead_ns = 7;
  options.start_skew = {{Rank{0}, 100}};
  expect_path(simulated(reduce_chain(), full_mesh(3), options), {{SliceKind::kWait, 0, 100},
                                                                 {SliceKind::kOverhead, 0, 7},
                                                                 {SliceKind::kLatency, 1, kAlpha},
                                                                 {SliceKind::kTransfer, 1, 100},
                                                                 {SliceKind::kLatency, 2, kAlpha},
                                                                 {SliceKind::kTransfer, 2, 100}});
}

TEST(CriticalPath, OfQueuedMessagesGoesThroughThoseBefore) {
  Builder b({.kind = CollectiveKind::kSendRecv, .num_ranks = 2, .peer = 1},
            {.name = "stream", .chunks_per_block = 3, .slots = 3});
  LaneWriter sender = b.add_lane(Rank{0});
  LaneWriter receiver = b.add_lane(Rank{1});
  for (uint32_t i = 0; i < 3; ++i) {
    sender.send(input(i), Rank{1});
    receiver.recv(output(i), Rank{0});
  }
  const Report report = simulated(std::move(b).finish(), full_mesh(2),
                                  {.bytes = 2400, .discipline = Discipline::kSlots});
  std::vector<Expected> expected;
  for (int i = 0; i < 3; ++i) {
    expected.push_back({SliceKind::kLatency, 1, kAlpha});
    expected.push_back({SliceKind::kTransfer, 1, 100});
  }
  expect_path(report, expected);
}

TEST(CriticalPath, ThroughASendThatWasTakenStopsBeforeTheTakersReduction) {
  Builder b({.kind = CollectiveKind::kAllReduce, .num_ranks = 2}, {.name = "x"});
  b.add_scratch(Rank{0}, ChunkId{0});
  LaneWriter sender = b.add_lane(Rank{0});
  const ir::StepRef sent = sender.send(input(0), Rank{1});
  sender.copy(input(0), ir::scratch(0), {sent});
  b.add_lane(Rank{1}).recv_reduce(input(0), output(0), Rank{0});
  const Report report =
      simulated(std::move(b).finish(), full_mesh(2, kGbps), {.bytes = 800, .copy_gbps = 0.5});
  expect_path(report, {{SliceKind::kLatency, 1, kAlpha},
                       {SliceKind::kTransfer, 1, 100},
                       {SliceKind::kCopy, 0, 1600}});
}

TEST(CriticalPath, IsLeftOutOnRequest) {
  const Report report =
      simulated(reduce_chain(), full_mesh(3), {.bytes = 8, .with_critical_path = false});
  EXPECT_TRUE(report.critical_path.empty());
}

}  // namespace
}  // namespace tutti::sim
