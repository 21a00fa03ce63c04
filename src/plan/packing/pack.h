// The trees for a collective on a topology, and how good they are: the one door to packing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/packing/bounds.h"
#include "plan/packing/graph.h"
#include "plan/packing/shares.h"
#include "plan/packing/trees.h"
#include "topo/topology.h"
#include "tutti/collective.h"
#include "tutti/result.h"

namespace tutti::plan::packing {

enum class Method : uint8_t {
  kExact,  // as fast as the bound allows
  kBlink,  // as Blink packs: approximate, broadcast only; to compare
  kSlow,   // exact, on links that are neither NVLink nor xGMI
};

// Rates are of the message as nccl-tests counts it (sim::Options::bytes), GB/s.
struct Packing {
  std::vector<Tree> trees;
  uint32_t depth = 0;
  std::vector<Ring> rings = {};  // where the trees are chains along these: rings.h
  Fabric fabric;                 // what the trees were packed on
  Bound bound;             // of the fabric; in the reversed graph for reduce and reduce_scatter
  double bound_gbps = 0;   // no schedule that keeps to the fabric is faster
  double whole_gbps = 0;   // no schedule at all is faster
  double relay_gbps = 0;   // none on links of these kinds would be, if idle devices relayed; or 0
  double trees_gbps = 0;   // all trees together, each on its own share of the links
  double routed_gbps = 0;  // the same with every message on the one way that the topology gives it
};

// The collectives that trees serve.
[[nodiscard]] bool is_packed(CollectiveKind kind, Method method);

// All but the trees and what they carry. Errors as for pack.
[[nodiscard]] Result<Packing> bounds_for(const Collective& collective,
                                         const topo::Topology& topology,
                                         Method method = Method::kExact);

// What trees carry together with every message on its route; zero where a tree has an edge that no
// message can take.
[[nodiscard]] double routed_rate(const Collective& collective, const topo::Topology& topology,
                                 const std::vector<Tree>& trees);

// The topology has as many ranks as the collective. kUnsupported for a collective that is not
// served; fabric_of's errors for a topology that trees cannot be packed on.
[[nodiscard]] Result<Packing> pack(const Collective& collective, const topo::Topology& topology,
                                   Method method = Method::kExact);

}  // namespace tutti::plan::packing
