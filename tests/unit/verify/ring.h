// Rings for the tests of verify, written here by hand: the tests of the verifier do not lean on the
// planner whose schedules it is to judge.
#pragma once

#include <cstdint>

#include "ir/builder.h"

namespace tutti::verify {

// all_reduce: sums travel around, kept in output on their way; then results do.
inline ir::Schedule ring_all_reduce(uint32_t p, uint32_t slots = 2) {
  ir::Builder b({CollectiveKind::kAllReduce, p},
                {.name = "ring", .chunks_per_block = p, .slots = slots});
  for (uint32_t r = 0; r < p; ++r) {
    ir::LaneWriter lane = b.add_lane(Rank{r});
    const Rank next{(r + 1) % p};
    const Rank previous{(r + p - 1) % p};
    const auto chunk = [&](uint32_t back) { return (r + 2 * p - back) % p; };
    if (p == 1) {
      lane.copy(ir::input(0), ir::output(0));
      continue;
    }
    lane.send(ir::input(chunk(0)), next);
    for (uint32_t back = 1; back < p; ++back) {
      const uint32_t c = chunk(back);
      lane.recv_reduce_copy_send(ir::input(c), ir::output(c), previous, next);
    }
    for (uint32_t back = p; back < 2 * p - 2; ++back) {
      lane.recv_copy_send(ir::output(chunk(back)), previous, next);
    }
    lane.recv(ir::output(chunk(2 * p - 2)), previous);
  }
  return std::move(b).finish();
}

// reduce_scatter: as above, without a place for the sums on their way. Right with slots only: under
// lending every rank would have to be in all its steps at once.
inline ir::Schedule ring_reduce_scatter_without_memory(uint32_t p) {
  ir::Builder b({CollectiveKind::kReduceScatter, p}, {.name = "ring"});
  for (uint32_t r = 0; r < p; ++r) {
    ir::LaneWriter lane = b.add_lane(Rank{r});
    const Rank next{(r + 1) % p};
    const Rank previous{(r + p - 1) % p};
    lane.send(ir::input((r + p - 1) % p), next);
    for (uint32_t back = 2; back < p; ++back) {
      lane.recv_reduce_send(ir::input((r + p - back) % p), previous, next);
    }
    lane.recv_reduce(ir::input(r), ir::output(0), previous);
  }
  return std::move(b).finish();
}

}  // namespace tutti::verify
