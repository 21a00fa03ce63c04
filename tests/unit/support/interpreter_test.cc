#include "tests/support/interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/layout.h"

namespace tutti::test {
namespace {

using ir::Builder;
using ir::input;
using ir::LaneWriter;
using ir::output;
using ir::StepRef;
using testing::HasSubstr;

Status run(const ir::Schedule& schedule, InterpreterOptions options = {}, uint64_t elems = 7) {
  const auto layout = ir::Layout::create(schedule.collective, schedule.chunks_per_block).value();
  return interpret(schedule, ir::Sizes::even(layout, elems), options);
}

constexpr Collective kPair{CollectiveKind::kAllReduce, 2, 0, 0};

// Each of two ranks sends its input and adds the other's.
ir::Schedule exchange() {
  Builder b(kPair, {.name = "exchange"});
  for (uint32_t r = 0; r < 2; ++r) {
    LaneWriter lane = b.add_lane(Rank{r});
    const StepRef sent = lane.send(input(0), Rank{1 - r});
    lane.recv_reduce(input(0), output(0), Rank{1 - r}, {sent});
  }
  return std::move(b).finish();
}

TEST(Interpreter, AcceptsARightScheduleInEveryOrder) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Status status = run(exchange(), {Discipline::kSlots, Aliasing::kOutOfPlace, seed});
    EXPECT_TRUE(status.ok()) << status.error().message;
  }
}

TEST(Interpreter, SeesADeadlockThatOnlySlotsHide) {
  // Under lending each recv waits for its own send to be taken, by the other's recv.
  EXPECT_THAT(run(exchange()).error().message, HasSubstr("stuck at rank"));
}

TEST(Interpreter, SeesAWrongSum) {
  Builder b(kPair, {.name = "forgets"});
  for (uint32_t r = 0; r < 2; ++r) {
    LaneWriter lane = b.add_lane(Rank{r});
    lane.send(input(0), Rank{1 - r});
    lane.recv(output(0), Rank{1 - r});
  }
  EXPECT_THAT(run(std::move(b).finish()).error().message, HasSubstr("rank 0 output block 0"));
}

TEST(Interpreter, SeesAWriteIntoTheInput) {
  Builder b(kPair, {.name = "dirty"});
  for (uint32_t r = 0; r < 2; ++r) {
    LaneWriter lane = b.add_lane(Rank{r});
    lane.send(input(0), Rank{1 - r});
    lane.recv_reduce(input(0), output(0), Rank{1 - r});
    lane.copy(output(0), input(0));
  }
  const ir::Schedule schedule = std::move(b).finish();
  bool seen = false;
  for (uint64_t seed = 1; seed <= 20; ++seed) seen |= !run(schedule, {.seed = seed}).ok();
  EXPECT_TRUE(seen);
}

TEST(Interpreter, SeesMemoryOverwrittenWhileItIsLent) {
  // In place, the recv overwrites what the send lends; some order of lanes shows it.
  Builder b(kPair, {.name = "hasty"});
  for (uint32_t r = 0; r < 2; ++r) {
    LaneWriter lane = b.add_lane(Rank{r});
    lane.send(input(0), Rank{1 - r});
    lane.recv_reduce(input(0), output(0), Rank{1 - r});
  }
  const ir::Schedule schedule = std::move(b).finish();
  EXPECT_TRUE(run(schedule).ok());
  bool seen = false;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    seen |= !run(schedule, {Discipline::kLending, Aliasing::kInPlace, seed}).ok();
  }
  EXPECT_TRUE(seen);
}

TEST(Interpreter, HandsAnUnkeptResultOverInOneMoment) {
  Builder b({CollectiveKind::kReduce, 3, 2, 0}, {.name = "pass"});
  b.add_lane(Rank{0}).send(input(0), Rank{1});
  b.add_lane(Rank{1}).recv_reduce_send(input(0), Rank{0}, Rank{2});
  b.add_lane(Rank{2}).recv_reduce(input(0), output(0), Rank{1});
  const ir::Schedule schedule = std::move(b).finish();
  for (uint64_t seed = 1; seed <= 10; ++seed) EXPECT_TRUE(run(schedule, {.seed = seed}).ok());
}

TEST(Interpreter, SeesABarrierThatLetsSomeoneOut) {
  Builder b({CollectiveKind::kBarrier, 3, 0, 0}, {.name = "leaky"});
  const ir::Region nothing{ir::Buffer::kInput, 0, 0};
  b.add_lane(Rank{0}).send(nothing, Rank{1});
  b.add_lane(Rank{1}).recv(nothing, Rank{0});
  bool seen = false;
  const ir::Schedule schedule = std::move(b).finish();
  for (uint64_t seed = 1; seed <= 10; ++seed) seen |= !run(schedule, {.seed = seed}).ok();
  EXPECT_TRUE(seen);
}

TEST(Interpreter, HandlesNoElementsAtAll) {
  Builder b({CollectiveKind::kBroadcast, 2, 0, 0}, {.name = "empty", .chunks_per_block = 3});
  LaneWriter root = b.add_lane(Rank{0});
  root.copy(input(0, 3), output(0, 3));
  root.send(output(0, 3), Rank{1});
  b.add_lane(Rank{1}).recv(output(0, 3), Rank{0});
  const ir::Schedule schedule = std::move(b).finish();
  for (uint64_t elems : {0, 1, 2, 5}) EXPECT_TRUE(run(schedule, {}, elems).ok());
}

}  // namespace
}  // namespace tutti::test
