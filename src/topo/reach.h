// Whether ranks can reach each other, be it through other ranks that pass data on.
#pragma once

#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::topo {

// Devices that hold no rank pass nothing on. The topology must be checked. kInvalidArgument naming
// two ranks of which one cannot reach the other: then there is no schedule at all.
[[nodiscard]] Status check_reach(const Topology& topology);

}  // namespace tutti::topo
