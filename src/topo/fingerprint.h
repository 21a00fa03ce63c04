// A number for caches of plans: equal for topologies on which every schedule takes the same time.
#pragma once

#include <cstdint>

#include "topo/topology.h"

namespace tutti::topo {

// A 64-bit hash of nodes, links and ranks in their order, with all their figures but without names.
// The same on every machine and in every version that reads the same files.
[[nodiscard]] uint64_t fingerprint(const Topology& topology);

}  // namespace tutti::topo
