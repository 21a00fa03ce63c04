// Trees as a schedule: data flows down them, sums flow up, or both, piece behind piece.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "ir/schedule.h"
#include "plan/packing/trees.h"
#include "tutti/collective.h"
#include "tutti/result.h"

namespace tutti::plan::packing {

struct TreeScheduleOptions {
  std::string name;
  uint32_t pieces = 1;  // that each tree's share is cut into
};

// broadcast and reduce: every tree has the collective's root. all_gather and reduce_scatter: a tree
// carries a share of its root's block, and the weights at each root have the same sum. all_reduce:
// any roots. A reducing collective goes from a tree's leaves to its root, so its parents are where
// a rank sends to. kInvalidArgument for more chunks than a layout can number.
[[nodiscard]] Result<ir::Schedule> tree_schedule(const Collective& collective,
                                                 std::span<const Tree> trees,
                                                 const TreeScheduleOptions& options);

}  // namespace tutti::plan::packing
