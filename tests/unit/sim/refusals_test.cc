// What simulate says to schedules that cannot finish and to questions that make no sense.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/sim/machines.h"

namespace tutti::sim {
namespace {

using ir::Builder;
using ir::input;
using ir::LaneWriter;
using ir::output;
using ir::scratch;
using ir::StepRef;
using testing::AllOf;
using testing::HasSubstr;

Collective all_reduce(uint32_t num_ranks) {
  return {.kind = CollectiveKind::kAllReduce, .num_ranks = num_ranks};
}

ir::Schedule exchange() {
  Builder b(all_reduce(2), {.name = "exchange"});
  for (uint32_t r : {0u, 1u}) {
    LaneWriter lane = b.add_lane(Rank{r});
    lane.send(input(0), Rank{1 - r});
    lane.recv_reduce(input(0), output(0), Rank{1 - r});
  }
  return std::move(b).finish();
}

TEST(Deadlock, OfTwoThatBothReceiveFirstNamesBoth) {
  Builder b(all_reduce(2), {.name = "polite"});
  for (uint32_t r : {0u, 1u}) {
    LaneWriter lane = b.add_lane(Rank{r});
    lane.recv_reduce(input(0), output(0), Rank{1 - r});
    lane.send(input(0), Rank{1 - r});
  }
  const ir::Schedule schedule = std::move(b).finish();
  for (const Discipline discipline : {Discipline::kLending, Discipline::kSlots}) {
    const Result<Report> report =
        simulate(schedule, full_mesh(2), {.bytes = 8, .discipline = discipline});
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, ErrorCode::kRefused);
    EXPECT_THAT(report.error().message,
                AllOf(HasSubstr("'polite' cannot finish"), HasSubstr("2 of 2 lanes"),
                      HasSubstr("rank 0 lane 0 step 0 (recv_reduce) waits for a message of rank 1 "
                                "lane 0 step 0 (recv_reduce), which waits for a message of rank 0 "
                                "lane 0 step 0 (recv_reduce)")));
  }
}

TEST(Deadlock, ThroughASendThatIsNeverTakenExistsUnderLendingOnly) {
  Builder b(all_reduce(2), {.name = "impatient"});
  b.add_scratch(Rank{0}, ChunkId{0});
  b.add_scratch(Rank{1}, ChunkId{0});
  for (uint32_t r : {0u, 1u}) {
    LaneWriter lane = b.add_lane(Rank{r});
    const StepRef sent = lane.send(input(0), Rank{1 - r});
    lane.copy(input(0), scratch(0), {sent});
    lane.recv_reduce(input(0), output(0), Rank{1 - r});
  }
  const ir::Schedule schedule = std::move(b).finish();
  EXPECT_THAT(error_of(schedule, full_mesh(2), {.bytes = 8}),
              HasSubstr("rank 0 lane 0 step 1 (copy) depends on a send that is to be taken by rank "
                        "1 lane 0 step 1 (copy)"));
  EXPECT_TRUE(simulate(schedule, full_mesh(2), {.bytes = 8, .discipline = Discipline::kSlots}));
}

TEST(Deadlock, ThroughFullSlotsExistsUnderSlotsOnly) {
  Builder b(all_reduce(2), {.name = "chatty", .chunks_per_block = 2, .slots = 1});
  for (uint32_t r : {0u, 1u}) {
    LaneWriter lane = b.add_lane(Rank{r});
    lane.send(input(0), Rank{1 - r});
    lane.send(input(1), Rank{1 - r});
    lane.recv_reduce(input(0, 1), output(0, 1), Rank{1 - r});
    lane.recv_reduce(input(1, 1), output(1, 1), Rank{1 - r});
  }
  const ir::Schedule schedule = std::move(b).finish();
  EXPECT_TRUE(simulate(schedule, full_mesh(2), {.bytes = 8}));
  EXPECT_THAT(
      error_of(schedule, full_mesh(2), {.bytes = 8, .discipline = Discipline::kSlots}),
      HasSubstr(
          "rank 0 lane 0 step 1 (send) waits for room, which is made by rank 1 lane 0 step 1"));
}

TEST(Deadlock, OfACircleThatOnlyPassesOnIsSeen) {
  Builder b(all_reduce(3), {.name = "carousel"});
  for (uint32_t r = 0; r < 3; ++r) {
    b.add_lane(Rank{r}).recv_reduce_send(input(0), Rank{(r + 2) % 3}, Rank{(r + 1) % 3});
  }
  const ir::Schedule schedule = std::move(b).finish();
  EXPECT_THAT(error_of(schedule, full_mesh(3), {.bytes = 8}), HasSubstr("3 of 3 lanes"));
}

TEST(Deadlock, BetweenLanesOfARankNamesTheDependency) {
  Builder b(all_reduce(1), {.name = "knot"});
  b.add_scratch(Rank{0}, ChunkId{0});
  b.add_scratch(Rank{0}, ChunkId{0});
  LaneWriter a = b.add_lane(Rank{0}, 0);
  LaneWriter c = b.add_lane(Rank{0}, 1);
  a.copy(input(0), scratch(0), {StepRef{1, 0}});
  c.copy(input(0), scratch(1), {StepRef{0, 0}});
  EXPECT_THAT(error_of(std::move(b).finish(), full_mesh(1), {.bytes = 8}),
              HasSubstr("rank 0 lane 0 step 0 (copy) depends on rank 0 lane 1 step 0 (copy)"));
}

TEST(Simulate, RefusesMoreRanksThanTheTopologyHasAndTakesFewer) {
  EXPECT_THAT(error_of(exchange(), full_mesh(1), {.bytes = 8}),
              HasSubstr("the schedule has 2 ranks but topology 'mesh' has 1"));
  EXPECT_TRUE(simulate(exchange(), full_mesh(5), {.bytes = 8}));
}

TEST(Simulate, RefusesSizesThatCannotBe) {
  EXPECT_THAT(error_of(exchange(), full_mesh(2), {.bytes = 7, .elem_bytes = 2}),
              HasSubstr("7 bytes are not a whole number of elements of 2 bytes"));
  EXPECT_THAT(error_of(exchange(), full_mesh(2), {.bytes = 7, .elem_bytes = 0}),
              HasSubstr("at least one byte"));
  Options uneven;
  uneven.block_elems = {1, 2, 3};
  EXPECT_NE(error_of(exchange(), full_mesh(2), uneven), "no error");
}

TEST(Simulate, RefusesOptionsThatCannotBe) {
  const auto error_with = [](auto change) {
    Options options{.bytes = 8};
    change(options);
    return error_of(exchange(), full_mesh(2), options);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(error_with([](Options& o) { o.start_skew = {{Rank{2}, 1}}; }), HasSubstr("rank 2"));
  EXPECT_THAT(error_with([](Options& o) { o.start_skew = {{Rank{0}, -1}}; }), HasSubstr("skew"));
  EXPECT_THAT(error_with([](Options& o) { o.slow_ranks = {{Rank{9}, 2}}; }), HasSubstr("rank 9"));
  EXPECT_THAT(error_with([](Options& o) { o.slow_ranks = {{Rank{0}, 0.5}}; }), HasSubstr("slowed"));
  EXPECT_THAT(error_with([&](Options& o) {
                o.slow_ranks = {{Rank{0}, nan}};
              }),
              HasSubstr("slowed"));
  EXPECT_THAT(error_with([](Options& o) {
                o.slow_links = {{topo::LinkId{2}, 2}};
              }),
              HasSubstr("link 2"));
  EXPECT_THAT(error_with([](Options& o) {
                o.slow_links = {{topo::LinkId{0}, 0}};
              }),
              HasSubstr("slowed"));
  EXPECT_THAT(error_with([](Options& o) { o.step_overhead_ns = -1; }), HasSubstr("overhead"));
  EXPECT_THAT(error_with([&](Options& o) { o.copy_gbps = nan; }), HasSubstr("copy rate"));
}

TEST(Simulate, PassesUpWhatIsWrongWithTheScheduleAndTheTopology) {
  ir::Schedule unmatched = exchange();
  unmatched.ranks[1].lanes[0].steps.pop_back();
  EXPECT_THAT(error_of(unmatched, full_mesh(2), {.bytes = 8}),
              HasSubstr("no step for this message"));
  ir::Schedule misshapen = exchange();
  misshapen.ranks[0].lanes[0].steps[0].src_index = 9;
  EXPECT_THAT(error_of(misshapen, full_mesh(2), {.bytes = 8}), HasSubstr("rank 0 lane 0 step 0"));
  topo::Topology apart = full_mesh(2);
  apart.links.clear();
  const Result<Report> report = simulate(exchange(), apart, {.bytes = 8});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kNotFound);
  topo::Topology broken = full_mesh(2);
  broken.links[0].gbps = 0;
  EXPECT_NE(error_of(exchange(), broken, {.bytes = 8}), "no error");
}

}  // namespace
}  // namespace tutti::sim
