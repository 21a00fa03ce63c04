// Takes the switches out of a graph: every way through a switch becomes a link of its own, such
// that as many trees fit as before (splitting off edges: Frank; Bang-Jensen, Frank, Jackson;
// ForestColl).
#pragma once

#include <cstdint>
#include <vector>

#include "plan/packing/graph.h"

namespace tutti::plan::packing {

// The same graph in fine units, every switch with its links cut down in proportion until it takes
// in what it gives out: of a NIC that two GPUs share each gets half. No tree could use more of one
// without less of another; whether these parts are the right ones a bound tells.
[[nodiscard]] Graph balanced(const Graph& graph);

enum class Ways : uint8_t {
  kAny,         // also such as no message between ranks takes (Graph::routes), where need be
  kRoutesOnly,  // only ways that messages take
  kEvenly,      // only these, in proportion, whatever then fits
};

// The graph must support the demands (bounds.h). The result has ranks only. It supports them too
// where every switch takes in as much as it gives out, and otherwise possibly less: ask again. So
// with kRoutesOnly.
[[nodiscard]] Graph without_switches(const Graph& graph, const std::vector<int64_t>& demand,
                                     Ways ways = Ways::kAny);

}  // namespace tutti::plan::packing
