// Rings along links as a schedule: every ring carries an equal share of each block.
#pragma once

#include <span>

#include "ir/schedule.h"
#include "plan/packing/rings.h"
#include "plan/packing/tree_schedule.h"
#include "tutti/collective.h"
#include "tutti/result.h"

namespace tutti::plan::packing {

// all_gather, reduce_scatter, all_reduce: as the catalogue's ring does it, on each ring, every
// share cut into `pieces` with a lane each. broadcast and reduce: chains around the rings, from the
// root or to it. Two ranks or more. kInvalidArgument for more chunks than a layout can number.
[[nodiscard]] Result<ir::Schedule> ring_schedule(const Collective& collective,
                                                 std::span<const Ring> rings,
                                                 const TreeScheduleOptions& options);

}  // namespace tutti::plan::packing
