// Contributions that arrived in any order are reduced in rank order: ((x0 + x1) + x2) + ... . So
// whoever reduces them gets the same bits, and it does not matter which rank that is.
#pragma once

#include <span>

#include "ir/builder.h"

namespace tutti::plan {

// Another rank's contribution in scratch, and the step that received it.
struct Arrival {
  ir::Region where;
  ir::StepRef step;
};

// Writes result = x0 + x1 + ...: `own` is the lane's rank's contribution, arrivals[q] that of rank
// q (the entry of the lane's rank is not looked at). `result` may be the memory of `own`; it is
// written only after the steps of `result_free`. Returns the step that completes it.
ir::StepRef reduce_in_rank_order(ir::LaneWriter lane, ir::Region own, ir::Region result,
                                 std::span<const Arrival> arrivals, ir::After result_free);

}  // namespace tutti::plan
