// Broadcast trees as Blink packs them (MLSys 2020): many trees by multiplicative weights, then few
// of them chosen. Approximate, kept to be compared with the exact packing.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/packing/graph.h"
#include "plan/packing/trees.h"

namespace tutti::plan::packing {

struct MinArborescence {
  std::vector<uint32_t> parent;  // kNoParent at the root
  double length = 0;
};

// The out-tree of least total length (Chu, Liu; Edmonds). length[from][to] is infinite where there
// is no link; every node can be reached.
[[nodiscard]] MinArborescence min_arborescence(const std::vector<std::vector<double>>& length,
                                               uint32_t root);

// `gbps` becomes what the trees carry together. The ranks can all be reached from the root.
[[nodiscard]] std::vector<Tree> blink_trees(const Graph& graph, uint32_t root, double& gbps);

}  // namespace tutti::plan::packing
