// This host as a topology, as hwloc sees it: a rank for each core.
//
// Cores share the memory of their NUMA node, a switch here; NUMA nodes are joined by socket links.
// GPUs and NICs are there as devices and NICs that hold no rank. hwloc tells what there is, not how
// fast it is: all rates and latencies are nominal, and the topology's name says "unmeasured".
#pragma once

#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::topo {

// kUnsupported in a build without hwloc, kIo when hwloc cannot look. hwloc's own variables apply:
// HWLOC_XMLFILE and HWLOC_SYNTHETIC describe another machine, HWLOC_COMPONENTS chooses what to ask.
[[nodiscard]] Result<Topology> discover();

}  // namespace tutti::topo
