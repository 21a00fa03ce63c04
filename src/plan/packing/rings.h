// Rings through all ranks along the links of a topology, as many at once as links allow: what NCCL
// would look for, and what trees are to be compared with.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/packing/graph.h"
#include "plan/packing/trees.h"
#include "topo/topology.h"
#include "tutti/collective.h"
#include "tutti/result.h"

namespace tutti::plan::packing {

struct Rings {
  std::vector<Ring> rings;  // each carries an equal share
  double gbps = 0;          // of all of them, every message on its route
  bool on_fabric = true;    // none leaves the fabric's links: else there is no ring on these alone
};

enum class LinkSharing : uint8_t {
  kShared,  // rings may share a link: three rings of half a link's rate fill four GPUs' six links
  kWholeLinks,  // each takes whole links of the least rate there is, as in NCCL 2; to compare
};

// The rings that carry most together, of those that a bounded search finds; exact where they reach
// the least cut, which every ring crosses. Only ways of messages between ranks count. kUnsupported
// for more than 256 ranks, and where no ring passes all ranks. Two ranks or more.
[[nodiscard]] Result<Rings> find_rings(const topo::Topology& topology, const Fabric& fabric,
                                       LinkSharing sharing = LinkSharing::kShared);

// The ways that data takes on rings, as trees: chains. For routed_rate, and for who draws them.
[[nodiscard]] std::vector<Tree> trees_along(const std::vector<Ring>& rings,
                                            const Collective& collective);

}  // namespace tutti::plan::packing
