// A topology in words, for `tutti topo show`. For machines to read there is the file format.
#pragma once

#include <string>

#include "topo/topology.h"

namespace tutti::topo {

// How many there are of what, the links by class with their figures, and, for up to 16 ranks, the
// rate at the bottleneck of each route. The topology must pass topo::check.
[[nodiscard]] std::string describe(const Topology& topology);

}  // namespace tutti::topo
