// Makes trees shallower without using any link more: the same throughput, less latency.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/packing/graph.h"
#include "plan/packing/trees.h"

namespace tutti::plan::packing {

// Out-trees. A search by exchanges of random choice, the same for the same input. No tree's root or
// weight changes, the deepest is no deeper than before. The least depth is not proved, only sought.
[[nodiscard]] std::vector<Tree> made_shallow(const Graph& graph, std::vector<Tree> trees);

// Undirected trees of weight 1; each is hung from its middle.
[[nodiscard]] std::vector<Tree> made_shallow_undirected(const Graph& graph,
                                                        std::vector<Tree> trees);

}  // namespace tutti::plan::packing
