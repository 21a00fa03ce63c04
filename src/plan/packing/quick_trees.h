// Trees for short messages: every rank is reached by the way on which it has the data first, given
// what the links carry already. Where packing asks how much trees carry together and takes them as
// deep as that needs, these are as shallow as the size makes worthwhile.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/packing/graph.h"
#include "plan/packing/trees.h"
#include "topo/topology.h"
#include "tutti/collective.h"

namespace tutti::plan::packing {

// The ways on which messages between ranks are to be had.
struct QuickRequest {
  const Collective& collective;
  const topo::Topology& topology;
  const Fabric& fabric;  // no other links are used
  uint64_t bytes = 0;    // as sim::Options counts
};

// One or more sets of trees, each of which serves the collective; the simulator knows which is
// best. Sets are left out where some rank is not reached.
[[nodiscard]] std::vector<std::vector<Tree>> quick_trees(const QuickRequest& request);

}  // namespace tutti::plan::packing
