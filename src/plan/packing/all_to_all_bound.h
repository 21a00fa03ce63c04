// How fast all_to_all can be at best, over whatever ways. Nothing is copied on the way, so it is a
// flow of many commodities, and its bound is a length for every link: if links have lengths, all
// blocks together travel at least (bytes times shortest way), and in one second the links carry at
// most (rate times length). Any lengths give a bound; a cut is the case of length 1 on its links
// and 0 elsewhere. The best lengths give the exact optimum of the flow; they are approached by
// making links longer that the shortest ways crowd.
#pragma once

#include <cstdint>
#include <string>

#include "topo/topology.h"

namespace tutti::plan::packing {

struct AllToAllBound {
  double ns = 0;    // 0: not looked for, since the topology is too large
  std::string why;  // "1.2 GB/s ..." in words
};

// `bytes`: one rank's input, as sim::Options counts. Ranks pass data on, other devices do not.
// At least so many rounds, even if they take minutes; otherwise as many as take a second or two.
[[nodiscard]] AllToAllBound all_to_all_bound(const topo::Topology& topology, uint64_t bytes,
                                             int least_rounds = 0);

}  // namespace tutti::plan::packing
