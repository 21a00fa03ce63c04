// Takes the switches out of a graph: every way through a switch becomes a link of its own, such
// that as many trees fit as before (splitting off edges: Frank; Bang-Jensen, Frank, Jackson;
// ForestColl).
#pragma once

#include <cstdint>
#include <vector>

#include "plan/packing/graph.h"

namespace tutti::plan::packing {

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
