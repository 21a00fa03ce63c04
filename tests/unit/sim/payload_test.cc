#include "sim/payload.h"

#include <gtest/gtest.h>

#include "tests/unit/sim/machines.h"

namespace tutti::sim {
namespace {

using ir::Builder;
using ir::input;
using ir::LaneWriter;
using ir::output;
using ir::scratch;

TEST(Payload, OfUnevenBlocksIsWhatLiesThere) {
  // Rank 1 and 2 send their blocks, of 10 and 0 elements, to the root.
  Builder b({.kind = CollectiveKind::kGather, .num_ranks = 3}, {.name = "direct"});
  for (uint32_t r : {1u, 2u}) {
    b.add_lane(Rank{r}).send(input(0), Rank{0});
    b.add_lane(Rank{0}).recv(output(r), Rank{r});
  }
  Options options{.elem_bytes = 4};
  options.block_elems = {7, 10, 0};
  const Report report = simulated(std::move(b).finish(), full_mesh(3), options);
  EXPECT_EQ(report.message_bytes, 40);
  EXPECT_DOUBLE_EQ(report.total_ns, message_ns(40));
}

TEST(Payload, OfAllToAllOutputSumsBlocksThatAreNotNeighbours) {
  // Blocks (i, j) have 10 i + j elements; rank 0 sends its output blocks 1 and 2 to rank 1's
  // scratch.
  const Collective collective{.kind = CollectiveKind::kAllToAll, .num_ranks = 3};
  Builder b(collective, {.name = "odd", .chunks_per_block = 2});
  for (uint32_t i = 0; i < 3; ++i) b.add_scratch(Rank{1}, ChunkId{6 * 1 + i});
  b.add_lane(Rank{0}).send(output(2, 3), Rank{1});
  b.add_lane(Rank{1}).recv(scratch(0, 3), Rank{0});
  Options options;
  options.block_elems = {0, 1, 2, 10, 11, 12, 20, 21, 22};
  // Positions 2..4 of rank 0's output: both halves of block (1, 0), the first of (2, 0).
  const Report report = simulated(std::move(b).finish(), full_mesh(3), options);
  EXPECT_EQ(report.message_bytes, 10 + 10);
}

// Rank 0 puts block (0, j) into scratch of any size and sends it on from there; rank 1 takes it
// into such scratch too, and sends it to rank 2.
ir::Schedule through_any_scratch(uint32_t block) {
  Builder b({.kind = CollectiveKind::kAllToAll, .num_ranks = 3}, {.name = "relay"});
  b.add_scratch(Rank{0}, ir::kAnyChunk);
  b.add_scratch(Rank{1}, ir::kAnyChunk);
  b.add_scratch(Rank{2}, ir::kAnyChunk);
  LaneWriter first = b.add_lane(Rank{0});
  first.copy(input(block), scratch(0));
  first.send(scratch(0), Rank{1});
  b.add_lane(Rank{1}).recv_copy_send(scratch(0), Rank{0}, Rank{2});
  b.add_lane(Rank{2}).recv(scratch(0), Rank{1});
  return std::move(b).finish();
}

TEST(Payload, IsFollowedThroughScratchOfAnySize) {
  Options options;
  options.block_elems = {100, 200, 300, 0, 0, 0, 0, 0, 5000};
  for (const Discipline discipline : {Discipline::kLending, Discipline::kSlots}) {
    options.discipline = discipline;
    for (const uint32_t block : {0u, 1u, 2u}) {
      const Report report = simulated(through_any_scratch(block), full_mesh(3), options);
      EXPECT_EQ(report.message_bytes, 2 * 100.0 * (block + 1));
      EXPECT_DOUBLE_EQ(report.total_ns, 2 * message_ns(100.0 * (block + 1)));
    }
  }
}

TEST(Payload, OfScratchNobodyWroteIsTheLargestChunk) {
  Builder b({.kind = CollectiveKind::kAllGather, .num_ranks = 2}, {.name = "odd"});
  b.add_scratch(Rank{0}, ir::kAnyChunk);
  b.add_scratch(Rank{1}, ir::kAnyChunk);
  b.add_lane(Rank{0}).send(scratch(0), Rank{1});
  b.add_lane(Rank{1}).recv(scratch(0), Rank{0});
  Options options;
  options.block_elems = {3, 17};
  EXPECT_EQ(simulated(std::move(b).finish(), full_mesh(2), options).message_bytes, 17);
}

}  // namespace
}  // namespace tutti::sim
