// Cycles of waits: found under the discipline that has them, printed at their shortest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "ir/builder.h"
#include "tests/unit/verify/refusal.h"
#include "tests/unit/verify/ring.h"

namespace tutti::verify {
namespace {

using ir::input;
using ir::output;
using testing::HasSubstr;

Collective broadcast(uint32_t num_ranks) { return {CollectiveKind::kBroadcast, num_ranks}; }
Collective all_gather(uint32_t num_ranks) { return {CollectiveKind::kAllGather, num_ranks}; }

// Two ranks exchange their blocks, each receiving first.
ir::Schedule both_receive_first() {
  ir::Builder b(all_gather(2), {.name = "exchange"});
  for (uint32_t r = 0; r < 2; ++r) {
    ir::LaneWriter lane = b.add_lane(Rank{r});
    lane.copy(input(0), output(r));
    lane.recv(output(1 - r), Rank{1 - r});
    lane.send(input(0), Rank{1 - r});
  }
  return std::move(b).finish();
}

TEST(Deadlock, IsPrintedAsItsShortestCycle) {
  const Refusal refusal = refusal_of(both_receive_first());
  EXPECT_EQ(refusal.rule, Rule::kDeadlock);
  EXPECT_EQ(refusal.discipline, Discipline::kLending);
  EXPECT_EQ(refusal.rank, Rank{0});
  EXPECT_EQ(refusal.step, (ir::StepRef{0, 1}));
  EXPECT_EQ(
      refusal.message,
      "deadlock: rank 0 lane 0 step 1 (recv output[1] from rank 1) can never run under lending: it "
      "is on a cycle of waits\n"
      "  rank 0 lane 0 step 1 (recv output[1] from rank 1) waits for rank 1 lane 0 step 2 (send "
      "input[0] to rank 0), which sends its message\n"
      "  rank 1 lane 0 step 2 (send input[0] to rank 0) waits for rank 1 lane 0 step 1 (recv "
      "output[0] from rank 0), the step before it in its lane\n"
      "  rank 1 lane 0 step 1 (recv output[0] from rank 0) waits for rank 0 lane 0 step 2 (send "
      "input[0] to rank 1), which sends its message\n"
      "  rank 0 lane 0 step 2 (send input[0] to rank 1) waits for rank 0 lane 0 step 1 (recv "
      "output[1] from rank 1), the step before it in its lane");
}

// Each rank sends all its `num_chunks` chunks before it receives any.
ir::Schedule all_send_first(uint32_t num_chunks, uint32_t slots) {
  ir::Builder b(all_gather(2),
                {.name = "exchange", .chunks_per_block = num_chunks, .slots = slots});
  for (uint32_t r = 0; r < 2; ++r) {
    ir::LaneWriter lane = b.add_lane(Rank{r});
    lane.copy(input(0, num_chunks), output(r * num_chunks, num_chunks));
    for (uint32_t i = 0; i < num_chunks; ++i) lane.send(input(i), Rank{1 - r});
    for (uint32_t i = 0; i < num_chunks; ++i) {
      lane.recv(output((1 - r) * num_chunks + i), Rank{1 - r});
    }
  }
  return std::move(b).finish();
}

TEST(Deadlock, NeedsAsManySlotsAsMessagesAreSentAhead) {
  expect_proved(all_send_first(3, 3));
  expect_proved(all_send_first(3, 0));
  const Refusal refusal = refusal_of(all_send_first(3, 2));
  EXPECT_EQ(refusal.rule, Rule::kDeadlock);
  EXPECT_EQ(refusal.discipline, Discipline::kSlots);
  EXPECT_THAT(refusal.message, HasSubstr("can never run with 2 slots"));
  EXPECT_THAT(refusal.message, HasSubstr("which would free the slot that it needs"));
}

TEST(Deadlock, OfOneSlotSaysOneSlot) {
  EXPECT_THAT(refusal_of(all_send_first(2, 1)).message, HasSubstr("can never run with 1 slot:"));
}

TEST(Deadlock, ComesFromADependencyOnASendThatIsNotTaken) {
  ir::Builder b(all_gather(2), {.name = "exchange"});
  for (uint32_t r = 0; r < 2; ++r) {
    ir::LaneWriter lane = b.add_lane(Rank{r});
    const ir::StepRef send = lane.send(input(0), Rank{1 - r});
    lane.recv(output(1 - r), Rank{1 - r}, {send});
    lane.copy(input(0), output(r));
  }
  const Refusal refusal = refusal_of(std::move(b).finish());
  EXPECT_EQ(refusal.rule, Rule::kDeadlock);
  EXPECT_EQ(refusal.discipline, Discipline::kLending);
  EXPECT_THAT(refusal.message,
              HasSubstr("waits for rank 1 lane 0 step 1 (recv output[0] from rank 0), which takes "
                        "the message of its dependency rank 0 lane 0 step 0 (send input[0] to "
                        "rank 1)"));
}

TEST(Deadlock, ComesFromDependenciesBetweenLanes) {
  ir::Builder b(broadcast(1), {.name = "nothing", .chunks_per_block = 2});
  ir::LaneWriter first = b.add_lane(Rank{0}, 0);
  ir::LaneWriter second = b.add_lane(Rank{0}, 1);
  first.copy(input(0), output(0), {ir::StepRef{1, 0}});
  second.copy(input(1), output(1), {ir::StepRef{0, 0}});
  const Refusal refusal = refusal_of(std::move(b).finish());
  EXPECT_EQ(refusal.rule, Rule::kDeadlock);
  EXPECT_THAT(refusal.message, HasSubstr("waits for rank 0 lane 1 step 0 (copy input[1] -> "
                                         "output[1]), a dependency\n"));
}

TEST(Deadlock, OfARingWithoutMemoryIsSeenUnderLendingOnly) {
  const Refusal refusal = refusal_of(ring_reduce_scatter_without_memory(3));
  EXPECT_EQ(refusal.rule, Rule::kDeadlock);
  EXPECT_EQ(refusal.discipline, Discipline::kLending);
  EXPECT_THAT(refusal.message, HasSubstr("runs at the same moment as"));
  // Two ranks need no recv_reduce_send.
  expect_proved(ring_reduce_scatter_without_memory(2));
}

TEST(Deadlock, OfAnEndlessRingOfRecvReduceSendsIsThatItWaitsForItself) {
  ir::Builder b({CollectiveKind::kAllReduce, 3}, {.name = "endless"});
  for (uint32_t r = 0; r < 3; ++r) {
    b.add_lane(Rank{r}).recv_reduce_send(input(0), Rank{(r + 2) % 3}, Rank{(r + 1) % 3});
  }
  const Refusal refusal = refusal_of(std::move(b).finish());
  EXPECT_EQ(refusal.rule, Rule::kDeadlock);
  EXPECT_THAT(refusal.message, HasSubstr("it waits for itself"));
}

TEST(Deadlock, ReportsTheShorterOfTwoCycles) {
  // Ranks 0, 1, 2 wait for each other in a ring; ranks 3 and 4 for each other.
  ir::Builder b(all_gather(5), {.name = "two cycles"});
  const auto wait_then_send = [&](uint32_t r, uint32_t from, uint32_t to) {
    ir::LaneWriter lane = b.add_lane(Rank{r});
    lane.recv(output(from), Rank{from});
    lane.send(input(0), Rank{to});
  };
  wait_then_send(0, 2, 1);
  wait_then_send(1, 0, 2);
  wait_then_send(2, 1, 0);
  wait_then_send(3, 4, 4);
  wait_then_send(4, 3, 3);
  const Refusal refusal = refusal_of(std::move(b).finish());
  EXPECT_EQ(refusal.rank, Rank{3});
  EXPECT_EQ(std::count(refusal.message.begin(), refusal.message.end(), '\n'), 4);
}

TEST(Deadlock, IsNotSeenInAChainOfRecvReduceSends) {
  ir::Builder b({CollectiveKind::kReduce, 4, 3}, {.name = "chain"});
  b.add_lane(Rank{0}).send(input(0), Rank{1});
  b.add_lane(Rank{1}).recv_reduce_send(input(0), Rank{0}, Rank{2});
  b.add_lane(Rank{2}).recv_reduce_send(input(0), Rank{1}, Rank{3});
  b.add_lane(Rank{3}).recv_reduce(input(0), output(0), Rank{2});
  expect_proved(std::move(b).finish());
}

}  // namespace
}  // namespace tutti::verify
