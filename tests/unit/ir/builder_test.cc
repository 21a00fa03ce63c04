#include "ir/builder.h"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <vector>

#include "ir/shape.h"
#include "tests/unit/ir/schedules.h"

namespace tutti::ir {
namespace {

TEST(Builder, FillsTheHeaderFromItsOptions) {
  Builder b({CollectiveKind::kBroadcast, 3, 2, 0},
            {.name = "tree", .chunks_per_block = 5, .slots = 7, .placement = Placement::kInPlace});
  EXPECT_EQ(b.num_ranks(), 3u);
  EXPECT_EQ(b.layout().num_chunks(), 5u);
  const Schedule schedule = std::move(b).finish();
  EXPECT_EQ(schedule.name, "tree");
  EXPECT_EQ(schedule.slots, 7u);
  EXPECT_EQ(schedule.placement, Placement::kInPlace);
  EXPECT_EQ(schedule.ranks.size(), 3u);
  EXPECT_EQ(num_steps(schedule), 0u);
}

TEST(Builder, StepsHaveTheRegionsAndPeersOfTheirKindAndNothingElse) {
  const Schedule schedule = test::every_kind();
  EXPECT_TRUE(check_shape(schedule));
  const auto& lane = schedule.ranks[0].lanes[1];
  const Step& fused = lane.steps.back();
  EXPECT_EQ(fused.kind, StepKind::kRecvReduceCopySend);
  EXPECT_EQ(fused.src(), scratch(3));
  EXPECT_EQ(fused.dst(), scratch(5));
  EXPECT_EQ(fused.recv_peer, Rank{2});
  EXPECT_EQ(fused.send_peer, Rank{1});
  EXPECT_EQ(lane.channel, 7u);
  const Step& forwarded = lane.steps[3];
  EXPECT_EQ(forwarded.kind, StepKind::kRecvCopySend);
  EXPECT_EQ(forwarded.src(), input(0));
  EXPECT_EQ(forwarded.dst(), output(8));
}

TEST(Builder, DependenciesAreInStepOrderHoweverLanesWereWritten) {
  const auto write = [](bool second_lane_first) {
    Builder b({CollectiveKind::kAllReduce, 1, 0, 0}, {.name = "t", .chunks_per_block = 2});
    LaneWriter x = b.add_lane(Rank{0});
    LaneWriter y = b.add_lane(Rank{0});
    const StepRef first = x.copy(input(0), output(0));
    const auto in_x = [&] { x.copy(input(1), output(1), {first, StepRef{1, 0}}); };
    const auto in_y = [&] { y.copy(input(0), output(0), {first}); };
    if (second_lane_first) in_y();
    in_x();
    if (!second_lane_first) in_y();
    return std::move(b).finish();
  };
  const Schedule schedule = write(true);
  EXPECT_EQ(schedule, write(false));
  EXPECT_EQ(schedule.ranks[0].deps, (std::vector<StepRef>{{0, 0}, {1, 0}, {0, 0}}));
}

TEST(Builder, NextNamesTheStepThatIsWrittenNext) {
  Builder b({CollectiveKind::kAllReduce, 1, 0, 0}, {});
  LaneWriter lane = b.add_lane(Rank{0});
  const StepRef next = lane.next();
  EXPECT_EQ(lane.copy(input(0), output(0)), next);
  EXPECT_EQ(lane.next(), (StepRef{0, 1}));
}

TEST(Builder, ScratchIsNumberedInOrder) {
  Builder b({CollectiveKind::kAllReduce, 2, 0, 0}, {.name = "t", .chunks_per_block = 2});
  EXPECT_EQ(b.add_scratch(Rank{1}, ChunkId{1}), 0u);
  EXPECT_EQ(b.add_scratch(Rank{1}, kAnyChunk), 1u);
  EXPECT_EQ(b.add_scratch(Rank{0}, ChunkId{0}), 0u);
  const Schedule schedule = std::move(b).finish();
  EXPECT_EQ(schedule.ranks[1].scratch, (std::vector<ChunkId>{ChunkId{1}, kAnyChunk}));
}

TEST(Builder, ThrowsAtTheStepBeyondItsBound) {
  Builder b({CollectiveKind::kAllReduce, 1, 0, 0}, {.name = "t", .max_steps = 2});
  LaneWriter lane = b.add_lane(Rank{0});
  lane.copy(input(0), output(0));
  lane.copy(input(0), output(0));
  EXPECT_THROW(lane.copy(input(0), output(0)), std::length_error);
}

TEST(BuilderDeathTest, DiesOfRegionsThatDifferInLength) {
  Builder b({CollectiveKind::kAllReduce, 1, 0, 0}, {.name = "t", .chunks_per_block = 2});
  LaneWriter lane = b.add_lane(Rank{0});
  EXPECT_DEATH(lane.copy(input(0, 2), output(0, 1)), "as many chunks");
}

TEST(StepKind, NamesAreReadBack) {
  for (int k = 0; k < kNumStepKinds; ++k) {
    const auto kind = static_cast<StepKind>(k);
    EXPECT_EQ(parse_step_kind(to_string(kind)), kind);
  }
  EXPECT_EQ(parse_step_kind("recv_send"), std::nullopt);
  EXPECT_EQ(parse_buffer("scratch"), Buffer::kScratch);
  EXPECT_EQ(parse_buffer(""), std::nullopt);
  EXPECT_EQ(parse_placement("either"), Placement::kEither);
  EXPECT_EQ(parse_placement("Either"), std::nullopt);
}

TEST(StepKind, KnowsWhatItReadsWritesTakesAndGives) {
  const auto row = [](StepKind kind) {
    return std::array{receives(kind), reads_src(kind), writes_dst(kind), sends(kind),
                      reduces(kind)};
  };
  using Row = std::array<bool, 5>;
  EXPECT_EQ(row(StepKind::kCopy), (Row{false, true, true, false, false}));
  EXPECT_EQ(row(StepKind::kReduce), (Row{false, true, true, false, true}));
  EXPECT_EQ(row(StepKind::kSend), (Row{false, true, false, true, false}));
  EXPECT_EQ(row(StepKind::kRecv), (Row{true, false, true, false, false}));
  EXPECT_EQ(row(StepKind::kRecvReduce), (Row{true, true, true, false, true}));
  EXPECT_EQ(row(StepKind::kRecvCopySend), (Row{true, false, true, true, false}));
  EXPECT_EQ(row(StepKind::kRecvReduceSend), (Row{true, true, false, true, true}));
  EXPECT_EQ(row(StepKind::kRecvReduceCopySend), (Row{true, true, true, true, true}));
}

}  // namespace
}  // namespace tutti::ir
