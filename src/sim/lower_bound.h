// How fast a collective could be on a topology at best, whatever the schedule. Two bounds, each
// valid by itself; the larger counts.
//
// Latency: some rank's data must reach another, over links of at least this latency together.
// Bandwidth: by the meaning of the collective some bytes must enter or leave a group of ranks (the
// ranks of a device, of a machine), and the links at its border have a rate.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/layout.h"
#include "ir/sizes.h"
#include "topo/topology.h"

namespace tutti::sim {

enum class BoundKind : uint8_t { kNone, kLatency, kBandwidth };
[[nodiscard]] std::string_view to_string(BoundKind kind) noexcept;

// Where the bandwidth bound comes from.
enum class BoundCut : uint8_t { kNone, kDevice, kAllDevices, kMachine, kAllMachines };
[[nodiscard]] std::string_view to_string(BoundCut cut) noexcept;

struct LowerBound {
  double latency_ns = 0;
  double bandwidth_ns = 0;
  BoundCut cut = BoundCut::kNone;
  // The rank whose device is the cut, or the machine; 0 for the cuts through all.
  uint32_t cut_index = 0;

  [[nodiscard]] double ns() const { return latency_ns > bandwidth_ns ? latency_ns : bandwidth_ns; }
  [[nodiscard]] BoundKind kind() const {
    if (ns() == 0) return BoundKind::kNone;
    return latency_ns > bandwidth_ns ? BoundKind::kLatency : BoundKind::kBandwidth;
  }
};

// `link_gbps` are the rates to reckon with, indexed by LinkId (a slowed link has less than the
// topology says). The layout's ranks must be on the topology.
[[nodiscard]] LowerBound lower_bound(const ir::Layout& layout, const ir::Sizes& sizes,
                                     uint32_t elem_bytes, const topo::Topology& topology,
                                     const std::vector<double>& link_gbps);

}  // namespace tutti::sim
