// Packs undirected spanning trees (matroid union): for all_reduce, which goes up a tree and down
// the same tree, using each of its links once each way.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/packing/graph.h"
#include "plan/packing/trees.h"

namespace tutti::plan::packing {

// `count` trees of weight 1, or fewer if not so many fit (then not always as many as would). The
// capacity of a pair is that of the slower direction. The graph has no switches. Takes time
// proportional to the square of the capacities' sum.
[[nodiscard]] std::vector<Tree> pack_spanning_trees(const Graph& graph, int64_t count);

}  // namespace tutti::plan::packing
