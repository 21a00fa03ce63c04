// Why no schedule can be faster, in words: the cut, what must cross it, and what it carries.
#pragma once

#include <cstdint>
#include <string>

#include "plan/packing/pack.h"
#include "topo/topology.h"
#include "tutti/collective.h"

namespace tutti::plan::packing {

// One or two sentences. The packing must be that of the collective on the topology. Empty for one
// rank, which has nothing to move.
[[nodiscard]] std::string certificate(const Collective& collective, const topo::Topology& topology,
                                      const Packing& packing);

// No schedule on the packing's links takes less: what must cross the cut at its rate, and the
// latency between the cut's one side and the rank on the other that is farthest from it. 0 for one
// rank.
[[nodiscard]] double least_ns(const topo::Topology& topology, const Packing& packing,
                              uint64_t bytes);

// "6 trees of depth 4 carry 150 GB/s, as fast as any schedule can be."
[[nodiscard]] std::string summary(const Packing& packing);

}  // namespace tutti::plan::packing
