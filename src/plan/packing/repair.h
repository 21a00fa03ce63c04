// Trees after the machine has changed under them: a link failed, or became slow. Packing anew gives
// the best trees there are; repairing keeps those of before, hangs elsewhere what lost its link,
// moves single edges off the busiest link for as long as that makes it less busy, and gives up
// trees that hold up the others. Less than a millisecond where packing takes seconds, and often as
// fast a packing, but without the promise.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/packing/trees.h"
#include "topo/topology.h"
#include "tutti/collective.h"
#include "tutti/result.h"

namespace tutti::plan::packing {

struct Repaired {
  std::vector<Tree> trees;
  double routed_gbps = 0;    // as in Packing
  uint32_t num_moved = 0;    // edges
  uint32_t num_dropped = 0;  // trees, of weight 1
};

// `trees` were packed for the collective on the topology before it changed, which had the same
// ranks. kInvalidArgument where they were not; kUnsupported, naming the rank, where one can be hung
// nowhere.
[[nodiscard]] Result<Repaired> repair(const Collective& collective, const std::vector<Tree>& trees,
                                      const topo::Topology& topology);

}  // namespace tutti::plan::packing
