// A sum that begins with the rank's own contribution and takes in the others' one by one, on around
// the ring of ranks, each added where the sum stands, without scratch. The order is fixed, whatever
// arrives first. Only for results that one rank calculates: another would begin with another.
#pragma once

#include "ir/builder.h"
#include "plan/algorithms/ring.h"

namespace tutti::plan {

// Writes result = own + the next message of everyone else. `result` may be the memory of `own`.
// Returns the step that completes it.
inline ir::StepRef add_up(ir::LaneWriter lane, RingPlace at, ir::Region own, ir::Region result) {
  if (at.num_ranks == 1) return lane.copy(own, result);
  ir::StepRef last = lane.recv_reduce(own, result, Rank{at.ahead(1)});
  for (uint32_t distance = 2; distance < at.num_ranks; ++distance) {
    last = lane.recv_reduce(result, result, Rank{at.ahead(distance)});
  }
  return last;
}

}  // namespace tutti::plan
