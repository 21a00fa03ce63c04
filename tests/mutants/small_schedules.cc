#include "tests/mutants/small_schedules.h"

#include <utility>

#include "ir/builder.h"

namespace tutti::mutants {

using namespace ir;

Schedule ring_all_reduce() {
  constexpr uint32_t p = 3;
  Builder b({CollectiveKind::kAllReduce, p}, {.name = "ring", .chunks_per_block = p});
  for (uint32_t r = 0; r < p; ++r) {
    LaneWriter lane = b.add_lane(Rank{r});
    const Rank next{(r + 1) % p};
    const Rank previous{(r + 2) % p};
    lane.send(input(r), next);
    lane.recv_reduce_copy_send(input((r + 2) % p), output((r + 2) % p), previous, next);
    lane.recv_reduce_copy_send(input((r + 1) % p), output((r + 1) % p), previous, next);
    lane.recv_copy_send(output(r), previous, next);
    lane.recv(output((r + 2) % p), previous);
  }
  return std::move(b).finish();
}

Schedule chain_reduce() {
  Builder b({CollectiveKind::kReduce, 4, 3}, {.name = "chain", .slots = 1});
  b.add_lane(Rank{0}).send(input(0), Rank{1});
  b.add_lane(Rank{1}).recv_reduce_send(input(0), Rank{0}, Rank{2});
  b.add_lane(Rank{2}).recv_reduce_send(input(0), Rank{1}, Rank{3});
  b.add_lane(Rank{3}).recv_reduce(input(0), output(0), Rank{2});
  return std::move(b).finish();
}

Schedule staged_broadcast() {
  Builder b({CollectiveKind::kBroadcast, 2}, {.name = "staged", .chunks_per_block = 2});
  b.add_scratch(Rank{0}, kAnyChunk);
  LaneWriter root = b.add_lane(Rank{0});
  root.copy(input(0, 2), output(0, 2));
  root.copy(input(0), scratch(0));
  const StepRef sent = root.send(scratch(0), Rank{1});
  root.copy(input(1), scratch(0), {sent});
  root.send(scratch(0), Rank{1});
  LaneWriter leaf = b.add_lane(Rank{1});
  leaf.recv(output(0), Rank{0});
  leaf.recv(output(1), Rank{0});
  return std::move(b).finish();
}

Schedule exchange_all_reduce() {
  Builder b({CollectiveKind::kAllReduce, 2}, {.name = "exchange"});
  for (uint32_t r = 0; r < 2; ++r) {
    b.add_scratch(Rank{r}, ChunkId{0});
    LaneWriter lane = b.add_lane(Rank{r});
    const StepRef sent = lane.send(input(0), Rank{1 - r});
    lane.recv_reduce(input(0), scratch(0), Rank{1 - r});
    lane.copy(scratch(0), output(0), {sent});
  }
  return std::move(b).finish();
}

Schedule sending_ahead(uint32_t num_chunks, uint32_t slots) {
  Builder b({CollectiveKind::kAllGather, 2},
            {.name = "ahead", .chunks_per_block = num_chunks, .slots = slots});
  for (uint32_t r = 0; r < 2; ++r) {
    LaneWriter lane = b.add_lane(Rank{r});
    for (uint32_t i = 0; i < num_chunks; ++i) lane.send(input(i), Rank{1 - r});
    lane.copy(input(0, num_chunks), output(r * num_chunks, num_chunks));
    for (uint32_t i = 0; i < num_chunks; ++i) {
      lane.recv(output((1 - r) * num_chunks + i), Rank{1 - r});
    }
  }
  return std::move(b).finish();
}

Schedule reduce_in_lanes() {
  Builder b({CollectiveKind::kReduce, 2}, {.name = "lanes", .chunks_per_block = 2});
  b.add_scratch(Rank{0}, ChunkId{0});
  b.add_scratch(Rank{0}, ChunkId{1});
  LaneWriter first = b.add_lane(Rank{0}, 0);
  LaneWriter second = b.add_lane(Rank{0}, 1);
  LaneWriter join = b.add_lane(Rank{0}, 2);
  const StepRef got_first = first.recv(scratch(0), Rank{1});
  const StepRef got_second = second.recv_reduce(input(1), scratch(1), Rank{1});
  join.copy(input(0), output(0));
  join.reduce(scratch(0), output(0), {got_first});
  join.copy(scratch(1), output(1), {got_second});
  b.add_lane(Rank{1}, 0).send(input(0), Rank{0});
  b.add_lane(Rank{1}, 1).send(input(1), Rank{0});
  return std::move(b).finish();
}

Schedule swap_blocks() {
  Builder b({CollectiveKind::kAllToAll, 2}, {.name = "swap"});
  for (uint32_t r = 0; r < 2; ++r) {
    LaneWriter lane = b.add_lane(Rank{r});
    lane.copy(input(r), output(r));
    lane.send(input(1 - r), Rank{1 - r});
    lane.recv(output(1 - r), Rank{1 - r});
  }
  return std::move(b).finish();
}

Schedule barrier() {
  constexpr uint32_t p = 3;
  Builder b({CollectiveKind::kBarrier, p}, {.name = "dissemination"});
  for (uint32_t r = 0; r < p; ++r) {
    LaneWriter lane = b.add_lane(Rank{r});
    for (uint32_t distance : {1u, 2u}) {
      lane.send(input(0, 0), Rank{(r + distance) % p});
      lane.recv(input(0, 0), Rank{(r + p - distance) % p});
    }
  }
  return std::move(b).finish();
}

Schedule reduce_scatter_with_copy() {
  Builder b({CollectiveKind::kReduceScatter, 2}, {.name = "pairwise"});
  for (uint32_t r = 0; r < 2; ++r) {
    b.add_scratch(Rank{r}, kAnyChunk);
    LaneWriter lane = b.add_lane(Rank{r});
    lane.copy(input(r), output(0));
    lane.send(input(1 - r), Rank{1 - r});
    lane.recv(scratch(0), Rank{1 - r});
    lane.reduce(scratch(0), output(0));
  }
  return std::move(b).finish();
}

std::vector<Schedule> small_schedules() {
  std::vector<Schedule> list;
  list.push_back(ring_all_reduce());
  list.push_back(chain_reduce());
  list.push_back(staged_broadcast());
  list.push_back(exchange_all_reduce());
  list.push_back(sending_ahead(2, 2));
  list.push_back(reduce_in_lanes());
  list.push_back(swap_blocks());
  list.push_back(barrier());
  list.push_back(reduce_scatter_with_copy());
  return list;
}

}  // namespace tutti::mutants
