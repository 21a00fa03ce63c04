// What positions hold: uninitialised reads, stray writes, chunks in the wrong place, contributions
// missing or counted twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "ir/builder.h"
#include "tests/unit/verify/refusal.h"
#include "tests/unit/verify/ring.h"

namespace tutti::verify {
namespace {

using ir::input;
using ir::output;
using ir::Placement;
using ir::scratch;
using testing::HasSubstr;

TEST(Uninitialised, IsReadingScratchBeforeItIsWritten) {
  ir::Builder b({CollectiveKind::kBroadcast, 1}, {.name = "nothing"});
  b.add_scratch(Rank{0}, ChunkId{0});
  b.add_lane(Rank{0}).copy(scratch(0), output(0));
  const Refusal refusal = refusal_of(std::move(b).finish());
  EXPECT_EQ(refusal.rule, Rule::kUninitialised);
  EXPECT_EQ(refusal.message,
            "uninitialised: rank 0 lane 0 step 0 (copy scratch[0] -> output[0]) reads scratch[0] "
            "before anything is written there (out of place, under lending)");
}

TEST(Uninitialised, IsReadingOutputBeforeItIsWrittenButInPlaceWhereItIsInput) {
  const auto schedule = [](Placement placement) {
    ir::Builder b({CollectiveKind::kReduce, 2}, {.name = "add", .placement = placement});
    b.add_lane(Rank{0}).recv_reduce(output(0), output(0), Rank{1});
    b.add_lane(Rank{1}).send(input(0), Rank{0});
    return std::move(b).finish();
  };
  expect_proved(schedule(Placement::kInPlace));
  EXPECT_EQ(refusal_of(schedule(Placement::kOutOfPlace)).rule, Rule::kUninitialised);
  EXPECT_EQ(refusal_of(schedule(Placement::kEither)).rule, Rule::kUninitialised);
}

TEST(StrayWrite, IsWritingInputOutOfPlace) {
  const auto schedule = [](Placement placement) {
    ir::Builder b({CollectiveKind::kReduce, 2}, {.name = "add", .placement = placement});
    ir::LaneWriter root = b.add_lane(Rank{0});
    root.recv_reduce(input(0), input(0), Rank{1});
    root.copy(input(0), output(0));
    b.add_lane(Rank{1}).send(input(0), Rank{0});
    return std::move(b).finish();
  };
  expect_proved(schedule(Placement::kInPlace));
  const Refusal refusal = refusal_of(schedule(Placement::kEither));
  EXPECT_EQ(refusal.rule, Rule::kStrayWrite);
  EXPECT_EQ(
      refusal.message,
      "stray_write: rank 0 lane 0 step 0 (recv_reduce input[0] -> input[0] from rank 1) writes "
      "input[0], which is the caller's input and must stay as it is (out of place, under "
      "lending)");
}

TEST(StrayWrite, IsWritingInputInPlaceWhereItIsNotOutput) {
  // Rank 1 is not the root: it has no output, so its input stays its own.
  ir::Builder b({CollectiveKind::kReduce, 2}, {.name = "add", .placement = Placement::kInPlace});
  ir::LaneWriter root = b.add_lane(Rank{0});
  root.recv_reduce(input(0), output(0), Rank{1});
  ir::LaneWriter leaf = b.add_lane(Rank{1});
  leaf.send(input(0), Rank{0});
  root.send(output(0), Rank{1});
  leaf.recv(input(0), Rank{0});
  EXPECT_EQ(refusal_of(std::move(b).finish()).rule, Rule::kStrayWrite);
}

TEST(StrayWrite, KnowsWhichBlockOfAReduceScatterIsShared) {
  const auto schedule = [](uint32_t block) {
    ir::Builder b({CollectiveKind::kReduceScatter, 2},
                  {.name = "add", .placement = Placement::kInPlace});
    for (uint32_t r = 0; r < 2; ++r) {
      ir::LaneWriter lane = b.add_lane(Rank{r});
      lane.send(input(1 - r), Rank{1 - r});
      // Rank 0's output is its input's block 0.
      lane.recv_reduce(input(r), r == 0 ? input(block) : output(0), Rank{1 - r});
    }
    return std::move(b).finish();
  };
  expect_proved(schedule(0));
  EXPECT_EQ(refusal_of(schedule(1)).rule, Rule::kStrayWrite);
}

ir::Schedule staged_broadcast(ChunkId sized_as) {
  ir::Builder b({CollectiveKind::kBroadcast, 1}, {.name = "staged", .chunks_per_block = 2});
  b.add_scratch(Rank{0}, sized_as);
  ir::LaneWriter lane = b.add_lane(Rank{0});
  lane.copy(input(0), output(0));
  lane.copy(input(1), scratch(0));
  lane.copy(scratch(0), output(1));
  return std::move(b).finish();
}

TEST(Fit, IsKeepingAChunkOnlyWhereThereIsRoomForIt) {
  expect_proved(staged_broadcast(ChunkId{1}));
  expect_proved(staged_broadcast(ir::kAnyChunk));
  const Refusal refusal = refusal_of(staged_broadcast(ChunkId{0}));
  EXPECT_EQ(refusal.rule, Rule::kFit);
  EXPECT_EQ(refusal.message,
            "fit: rank 0 lane 0 step 1 (copy input[1] -> scratch[0]) stores chunk 1 in scratch[0], "
            "which is sized for chunk 0; chunks differ in size (out of place, under lending)");
}

TEST(Fit, IsRefusedForAChunkInAnotherChunksOutput) {
  ir::Schedule ring = ring_all_reduce(3);
  ir::Step& last = ring.ranks[2].lanes[0].steps.back();
  last.dst_index = (last.dst_index + 1) % 3;
  const Refusal refusal = refusal_of(ring);
  EXPECT_EQ(refusal.rule, Rule::kFit);
  EXPECT_EQ(refusal.rank, Rank{2});
}

TEST(MixedChunks, IsReducingDifferentChunks) {
  ir::Builder b({CollectiveKind::kReduce, 2}, {.name = "add", .chunks_per_block = 2});
  ir::LaneWriter root = b.add_lane(Rank{0});
  root.recv_reduce(input(1), output(0), Rank{1});
  b.add_lane(Rank{1}).send(input(0), Rank{0});
  const Refusal refusal = refusal_of(std::move(b).finish());
  EXPECT_EQ(refusal.rule, Rule::kMixedChunks);
  EXPECT_THAT(refusal.message, HasSubstr("reduces chunk 0 with chunk 1, which is in input[1]"));
}

TEST(DoubleCount, IsReducingAContributionTwice) {
  ir::Builder b({CollectiveKind::kReduce, 3}, {.name = "add"});
  ir::LaneWriter root = b.add_lane(Rank{0});
  root.recv_reduce(input(0), output(0), Rank{1});
  root.recv_reduce(output(0), output(0), Rank{1});
  ir::LaneWriter leaf = b.add_lane(Rank{1});
  leaf.send(input(0), Rank{0});
  leaf.send(input(0), Rank{0});
  const Refusal refusal = refusal_of(std::move(b).finish());
  EXPECT_EQ(refusal.rule, Rule::kDoubleCount);
  EXPECT_EQ(refusal.message,
            "double_count: rank 0 lane 0 step 1 (recv_reduce output[0] -> output[0] from rank 1) "
            "counts rank 1 twice: it reduces chunk 0 reduced over rank 1 with chunk 0 reduced over "
            "ranks 0-1, which is in output[0] (out of place, under lending)");
}

TEST(DoubleCount, IsReducingAPositionWithItself) {
  ir::Builder b({CollectiveKind::kReduce, 1}, {.name = "add"});
  ir::LaneWriter lane = b.add_lane(Rank{0});
  lane.copy(input(0), output(0));
  lane.reduce(output(0), output(0));
  EXPECT_EQ(refusal_of(std::move(b).finish()).rule, Rule::kDoubleCount);
}

TEST(ResultRule, NamesTheContributionThatIsMissing) {
  ir::Builder b({CollectiveKind::kReduce, 8, 2}, {.name = "star", .chunks_per_block = 4});
  ir::LaneWriter root = b.add_lane(Rank{2});
  bool is_first = true;
  for (uint32_t r : {0u, 1u, 3u, 4u, 6u}) {
    b.add_lane(Rank{r}).send(input(0, 4), Rank{2});
    root.recv_reduce(is_first ? input(0, 4) : output(0, 4), output(0, 4), Rank{r});
    is_first = false;
  }
  const Refusal refusal = refusal_of(std::move(b).finish());
  EXPECT_EQ(refusal.rule, Rule::kResult);
  EXPECT_EQ(refusal.rank, Rank{2});
  EXPECT_TRUE(refusal.has_step);
  EXPECT_EQ(refusal.step, (ir::StepRef{0, 4}));
  EXPECT_EQ(refusal.message,
            "result: output[0] of rank 2 holds chunk 0 reduced over ranks 0-4,6: ranks 5,7 are "
            "missing; rank 2 lane 0 step 4 (recv_reduce output[0:4] -> output[0:4] from rank 6) "
            "wrote it last (out of place, under lending)");
}

TEST(ResultRule, NamesAnOutputThatIsNeverWritten) {
  ir::Builder b({CollectiveKind::kAllGather, 2}, {.name = "half"});
  b.add_lane(Rank{0}).copy(input(0), output(0));
  const Refusal refusal = refusal_of(std::move(b).finish());
  EXPECT_EQ(refusal.rule, Rule::kResult);
  EXPECT_FALSE(refusal.has_step);
  EXPECT_EQ(refusal.message,
            "result: output[1] of rank 0 is never written (out of place, under lending)");
}

TEST(ResultRule, AsksForTheBlocksOfAllToAllByTheirSenders) {
  ir::Builder b({CollectiveKind::kAllToAll, 3}, {.name = "direct", .slots = 4});
  for (uint32_t r = 0; r < 3; ++r) {
    ir::LaneWriter lane = b.add_lane(Rank{r});
    lane.copy(input(r), output(r));
    for (uint32_t d = 1; d < 3; ++d) lane.send(input((r + d) % 3), Rank{(r + d) % 3});
    for (uint32_t d = 1; d < 3; ++d) lane.recv(output((r + 3 - d) % 3), Rank{(r + 3 - d) % 3});
  }
  expect_proved(std::move(b).finish());
}

TEST(ResultRule, AsksForTheRootsBlocksInScatterGatherAndSendRecv) {
  for (auto kind : {CollectiveKind::kScatter, CollectiveKind::kGather}) {
    ir::Builder b({kind, 3, 1}, {.name = "direct"});
    ir::LaneWriter root = b.add_lane(Rank{1});
    const bool scatters = kind == CollectiveKind::kScatter;
    root.copy(input(scatters ? 1 : 0), output(scatters ? 0 : 1));
    for (uint32_t r : {0u, 2u}) {
      ir::LaneWriter leaf = b.add_lane(Rank{r});
      if (scatters) {
        root.send(input(r), Rank{r});
        leaf.recv(output(0), Rank{1});
      } else {
        leaf.send(input(0), Rank{1});
        root.recv(output(r), Rank{r});
      }
    }
    expect_proved(std::move(b).finish());
  }
  ir::Builder b({CollectiveKind::kSendRecv, 4, 3, 1}, {.name = "direct"});
  b.add_lane(Rank{3}).send(input(0), Rank{1});
  b.add_lane(Rank{1}).recv(output(0), Rank{3});
  expect_proved(std::move(b).finish());
}

}  // namespace
}  // namespace tutti::verify
