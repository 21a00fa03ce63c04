// Accesses to one position that nothing orders: refused under the discipline and placement that
// has them, and only there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "ir/builder.h"
#include "tests/unit/verify/refusal.h"

namespace tutti::verify {
namespace {

using ir::After;
using ir::input;
using ir::output;
using ir::Placement;
using ir::scratch;
using testing::HasSubstr;

// Rank 0 of a broadcast sends two chunks through one position of scratch.
ir::Schedule reuse_of_scratch(bool waits) {
  ir::Builder b({CollectiveKind::kBroadcast, 2}, {.name = "staged", .chunks_per_block = 2});
  b.add_scratch(Rank{0}, ir::kAnyChunk);
  ir::LaneWriter root = b.add_lane(Rank{0});
  root.copy(input(0, 2), output(0, 2));
  root.copy(input(0), scratch(0));
  const ir::StepRef send = root.send(scratch(0), Rank{1});
  root.copy(input(1), scratch(0), waits ? After{send} : After{});
  root.send(scratch(0), Rank{1});
  ir::LaneWriter leaf = b.add_lane(Rank{1});
  leaf.recv(output(0), Rank{0});
  leaf.recv(output(1), Rank{0});
  return std::move(b).finish();
}

TEST(Hazard, IsOverwritingLentMemory) {
  expect_proved(reuse_of_scratch(true));
  const Refusal refusal = refusal_of(reuse_of_scratch(false));
  EXPECT_EQ(refusal.rule, Rule::kHazard);
  EXPECT_EQ(refusal.discipline, Discipline::kLending);
  EXPECT_EQ(refusal.rank, Rank{0});
  EXPECT_EQ(refusal.step, (ir::StepRef{0, 3}));
  EXPECT_EQ(
      refusal.message,
      "hazard: rank 0 lane 0 step 3 (copy input[1] -> scratch[0]) writes scratch[0] while it "
      "may still be lent: rank 0 lane 0 step 2 (send scratch[0] to rank 1) sends it, and "
      "nothing orders rank 1 lane 0 step 0 (recv output[0] from rank 0), which takes it, "
      "before the write; let the write depend on lane 0 step 2 (out of place, under lending)");
}

// One rank copies input to scratch in one lane and scratch to output in another.
ir::Schedule two_lanes(bool waits) {
  ir::Builder b({CollectiveKind::kBroadcast, 1}, {.name = "staged"});
  b.add_scratch(Rank{0}, ChunkId{0});
  b.add_scratch(Rank{0}, ChunkId{0});
  ir::LaneWriter first = b.add_lane(Rank{0}, 0);
  ir::LaneWriter second = b.add_lane(Rank{0}, 1);
  first.copy(input(0), scratch(0));
  const ir::StepRef write = first.copy(scratch(0), scratch(1));
  second.copy(scratch(1), output(0), waits ? After{write} : After{});
  return std::move(b).finish();
}

TEST(Hazard, IsReadingInOneLaneWhatAnotherWrites) {
  expect_proved(two_lanes(true));
  // Which of the two comes first in the replay decides how the fault shows.
  const Refusal refusal = refusal_of(two_lanes(false));
  EXPECT_TRUE(refusal.rule == Rule::kHazard || refusal.rule == Rule::kUninitialised);
}

TEST(Hazard, NamesBothSides) {
  // Lane 1 is longer, so that its write comes after lane 0's in the replay.
  ir::Builder b({CollectiveKind::kBroadcast, 1}, {.name = "twice"});
  b.add_lane(Rank{0}, 0).copy(input(0), output(0));
  b.add_lane(Rank{0}, 1).copy(input(0), output(0));
  const Refusal refusal = refusal_of(std::move(b).finish());
  EXPECT_EQ(refusal.rule, Rule::kHazard);
  EXPECT_EQ(refusal.placement, Placement::kOutOfPlace);
  EXPECT_EQ(
      refusal.message,
      "hazard: rank 0 lane 1 step 0 (copy input[0] -> output[0]) writes output[0], but nothing "
      "orders rank 0 lane 0 step 0 (copy input[0] -> output[0]), which uses it too, before "
      "that (out of place, under lending)");
}

// Two ranks give each other their vectors; `waits`: they keep the sum back until theirs was taken.
ir::Schedule exchange(Placement placement, bool waits) {
  ir::Builder b({CollectiveKind::kAllReduce, 2}, {.name = "exchange", .placement = placement});
  for (uint32_t r = 0; r < 2; ++r) {
    b.add_scratch(Rank{r}, ChunkId{0});
    ir::LaneWriter lane = b.add_lane(Rank{r});
    const ir::StepRef send = lane.send(input(0), Rank{1 - r});
    lane.recv_reduce(input(0), scratch(0), Rank{1 - r});
    lane.copy(scratch(0), output(0), waits ? After{send} : After{});
  }
  return std::move(b).finish();
}

TEST(Hazard, IsAskedForThePlacementsThatAreClaimed) {
  expect_proved(exchange(Placement::kEither, true));
  expect_proved(exchange(Placement::kOutOfPlace, false));
  for (Placement placement : {Placement::kInPlace, Placement::kEither}) {
    const Refusal refusal = refusal_of(exchange(placement, false));
    EXPECT_EQ(refusal.rule, Rule::kHazard);
    EXPECT_EQ(refusal.placement, Placement::kInPlace);
    EXPECT_THAT(refusal.message, HasSubstr("(in place, under lending)"));
  }
}

TEST(Hazard, IsNotACopyOntoItselfInPlace) {
  // In place the copy touches nothing, so it may stand beside a send of the same memory.
  ir::Builder b({CollectiveKind::kBroadcast, 2}, {.name = "direct"});
  ir::LaneWriter root = b.add_lane(Rank{0});
  root.send(input(0), Rank{1});
  root.copy(input(0), output(0));
  b.add_lane(Rank{1}).recv(output(0), Rank{0});
  expect_proved(std::move(b).finish());
}

TEST(Hazard, IsAStepWhoseRegionsOverlapInPart) {
  ir::Builder b({CollectiveKind::kBroadcast, 1}, {.name = "shift", .chunks_per_block = 2});
  for (int i = 0; i < 3; ++i) b.add_scratch(Rank{0}, ir::kAnyChunk);
  ir::LaneWriter lane = b.add_lane(Rank{0});
  lane.copy(input(0, 2), scratch(0, 2));
  lane.copy(scratch(0, 2), scratch(1, 2));
  lane.copy(scratch(1, 2), output(0, 2));
  const Refusal refusal = refusal_of(std::move(b).finish());
  EXPECT_EQ(refusal.rule, Rule::kHazard);
  EXPECT_EQ(refusal.step, (ir::StepRef{0, 1}));
  EXPECT_THAT(refusal.message, HasSubstr("reads and writes regions that overlap in part"));
}

// Rank 0 receives into scratch what lane 1 then sends on, message by message. Nothing but the full
// slot keeps the second message from coming before the first was sent on.
TEST(Hazard, IsNotKeptAwayByAFullSlot) {
  ir::Builder b({CollectiveKind::kBroadcast, 3, 2}, {.name = "relay", .slots = 1});
  // Rank 2 sends its chunk to rank 0, and again only when rank 1 has it.
  ir::LaneWriter root = b.add_lane(Rank{2});
  root.copy(input(0), output(0));
  root.send(input(0), Rank{0});
  root.send(input(0), Rank{0});
  ir::LaneWriter middle = b.add_lane(Rank{0}, 0);
  ir::LaneWriter forward = b.add_lane(Rank{0}, 1);
  const ir::StepRef got = middle.recv(output(0), Rank{2});
  middle.recv(output(0), Rank{2});
  forward.send(output(0), Rank{1}, {got});
  b.add_lane(Rank{1}, 1).recv(output(0), Rank{0});
  ir::Schedule schedule = std::move(b).finish();
  EXPECT_EQ(refusal_of(std::move(schedule)).rule, Rule::kHazard);
}

TEST(Hazard, IsOverwritingWhatASlotHasNotYetTaken) {
  // Under lending the write waits for a later send of lane 0 to be taken, hence for the first too.
  // With slots that later send is complete as soon as it has run, and orders nothing of lane 1.
  const auto schedule = [](bool waits) {
    ir::Builder b({CollectiveKind::kBroadcast, 2}, {.name = "two lanes", .chunks_per_block = 2});
    b.add_scratch(Rank{0}, ir::kAnyChunk);
    ir::LaneWriter prepare = b.add_lane(Rank{0}, 1);
    ir::LaneWriter signal = b.add_lane(Rank{0}, 2);
    ir::LaneWriter again = b.add_lane(Rank{0}, 3);
    const ir::StepRef staged = prepare.copy(input(0), scratch(0));
    prepare.copy(input(0, 2), output(0, 2));
    const ir::StepRef first = prepare.send(scratch(0), Rank{1});
    const ir::StepRef ping = signal.send(input(0, 0), Rank{1}, {staged});
    again.copy(input(1), scratch(0), waits ? After{ping, first} : After{ping});
    again.send(scratch(0), Rank{1});
    const ir::StepRef taken = b.add_lane(Rank{1}, 1).recv(output(0), Rank{0});
    b.add_lane(Rank{1}, 2).recv(input(0, 0), Rank{0}, {taken});
    b.add_lane(Rank{1}, 3).recv(output(1), Rank{0});
    return std::move(b).finish();
  };
  expect_proved(schedule(true));
  const Refusal refusal = refusal_of(schedule(false));
  EXPECT_EQ(refusal.rule, Rule::kHazard);
  EXPECT_EQ(refusal.discipline, Discipline::kSlots);
  EXPECT_THAT(refusal.message, HasSubstr("(out of place, with 2 slots)"));
}

}  // namespace
}  // namespace tutti::verify
