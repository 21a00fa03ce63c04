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

// Rank 0 sends `count` chunks of 800 bytes to rank 1, one message each.
ir::Schedule stream(uint32_t count, uint32_t slots) {
  Builder b({.kind = CollectiveKind::kSendRecv, .num_ranks = 2, .peer = 1},
            {.name = "stream", .chunks_per_block = count, .slots = slots});
  LaneWriter sender = b.add_lane(Rank{0});
  LaneWriter receiver = b.add_lane(Rank{1});
  for (uint32_t i = 0; i < count; ++i) {
    sender.send(input(i), Rank{1});
    receiver.recv(output(i), Rank{0});
  }
  return std::move(b).finish();
}

Options with_slots(uint64_t bytes) { return {.bytes = bytes, .discipline = Discipline::kSlots}; }

TEST(Slots, MoveMessagesBeforeTheReceiverIsThere) {
  Options options = with_slots(800);
  options.start_skew = {{Rank{1}, 10000}};
  const Report report = simulated(stream(1, 2), full_mesh(2), options);
  EXPECT_DOUBLE_EQ(report.total_ns, 10000);
}

TEST(Slots, MoveMessagesOfAConnectionOneAfterTheOther) {
  const Report report = simulated(stream(5, 5), full_mesh(2), with_slots(5 * 800));
  EXPECT_DOUBLE_EQ(report.total_ns, 5 * message_ns(800));
  EXPECT_EQ(report.rank_finish_ns[0], 0);
}

TEST(Slots, HoldASenderUntilThereIsRoom) {
  Options options = with_slots(5 * 800);
  options.start_skew = {{Rank{1}, 10000}};
  for (const uint32_t slots : {1u, 2u, 3u}) {
    // What fits is there when the receiver comes; the rest goes one by one, and the last send
    // runs when it has room: `slots` messages before the end.
    const Report report = simulated(stream(5, slots), full_mesh(2), options);
    EXPECT_DOUBLE_EQ(report.total_ns, 10000 + (5 - slots) * message_ns(800)) << slots;
    const double last_room = 4 - slots < slots ? 10000 : 10000 + (5 - 2 * slots) * message_ns(800);
    EXPECT_DOUBLE_EQ(report.rank_finish_ns[0], last_room) << slots;
  }
}

TEST(Slots, CompleteASendAtOnce) {
  Builder b({.kind = CollectiveKind::kSendRecv, .num_ranks = 2, .peer = 1}, {.name = "overwrite"});
  b.add_scratch(Rank{0}, ChunkId{0});
  LaneWriter sender = b.add_lane(Rank{0});
  const StepRef sent = sender.send(input(0), Rank{1});
  sender.copy(input(0), scratch(0), {sent});
  b.add_lane(Rank{1}).recv(output(0), Rank{0});
  const Report report = simulated(std::move(b).finish(), full_mesh(2), with_slots(800));
  EXPECT_EQ(report.rank_finish_ns[0], 0);
}

TEST(Slots, RunAFusedStepOnlyWhenItsOutputHasRoom) {
  // Rank 1 forwards two chunks through one slot to rank 2, which is late.
  Builder b({.kind = CollectiveKind::kBroadcast, .num_ranks = 3},
            {.name = "chain", .chunks_per_block = 2, .slots = 1});
  LaneWriter root = b.add_lane(Rank{0});
  LaneWriter middle = b.add_lane(Rank{1});
  LaneWriter last = b.add_lane(Rank{2});
  for (uint32_t i : {0u, 1u}) {
    root.send(input(i), Rank{1});
    middle.recv_copy_send(output(i), Rank{0}, Rank{2});
    last.recv(output(i), Rank{1});
  }
  Options options = with_slots(1600);
  options.start_skew = {{Rank{2}, 10000}};
  const Report report = simulated(std::move(b).finish(), full_mesh(3), options);
  EXPECT_DOUBLE_EQ(report.rank_finish_ns[1], 10000);
  EXPECT_DOUBLE_EQ(report.total_ns, 10000 + message_ns(800));
  ASSERT_FALSE(report.waits.empty());
  EXPECT_EQ(report.waits[0].rank, Rank{1});
  EXPECT_EQ(report.waits[0].on, Rank{2});
}

TEST(Slots, LetADeepChainOfFullSlotsMoveOn) {
  // All ranks but the last are stuck behind it; one taking frees them all, without a deep stack.
  constexpr uint32_t kRanks = 20000;
  Builder b({.kind = CollectiveKind::kBroadcast, .num_ranks = kRanks},
            {.name = "chain", .chunks_per_block = 2, .slots = 1});
  for (uint32_t r = 0; r < kRanks; ++r) {
    LaneWriter lane = b.add_lane(Rank{r});
    for (uint32_t i : {0u, 1u}) {
      if (r == 0) {
        lane.send(input(i), Rank{1});
      } else if (r + 1 < kRanks) {
        lane.recv_copy_send(output(i), Rank{r - 1}, Rank{r + 1});
      } else {
        lane.recv(output(i), Rank{r - 1});
      }
    }
  }
  topo::Topology one_device = full_mesh(1);
  one_device.ranks.assign(kRanks, one_device.ranks[0]);
  Options options = with_slots(1600);
  options.start_skew = {{Rank{kRanks - 1}, 5000}};
  EXPECT_EQ(simulated(std::move(b).finish(), one_device, options).total_ns, 5000);
}

TEST(Slots, ReportThatAReceiverWaitsOnlyUntilItsMessageMoves) {
  Options options = with_slots(800);
  options.start_skew = {{Rank{0}, 1234}};
  const Report report = simulated(stream(1, 2), full_mesh(2), options);
  ASSERT_EQ(report.waits.size(), 1u);
  EXPECT_EQ(report.waits[0].rank, Rank{1});
  EXPECT_DOUBLE_EQ(report.waits[0].ns, 1234);
  EXPECT_DOUBLE_EQ(report.total_ns, 1234 + message_ns(800));
}

}  // namespace
}  // namespace tutti::sim
