// Packs out-trees: as many at each root as asked for, no link used beyond its capacity.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/packing/graph.h"
#include "plan/packing/trees.h"

namespace tutti::plan::packing {

// The weights of the trees at rank r sum to demand[r]. The graph has no switches and supports the
// demands (bounds.h); otherwise a TUTTI_CHECK fails.
[[nodiscard]] std::vector<Tree> pack_arborescences(const Graph& graph,
                                                   const std::vector<int64_t>& demand);

}  // namespace tutti::plan::packing
