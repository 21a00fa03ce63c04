// What packed trees carry on a fragment of a DGX-1 and what rings do, in the rate model that
// Blink's published gains fit: a link carries 22.5 GB/s (DGX-1V) or 18.5 GB/s (DGX-1P), and where
// no ring through all GPUs exists, NCCL 2 goes over PCIe at 7.7 GB/s.
#pragma once

#include <algorithm>
#include <cmath>
#include <ctime>

#include "plan/packing/pack.h"
#include "plan/packing/rings.h"
#include "topo/topology.h"

namespace tutti::bench {

using plan::packing::Packing;

inline constexpr double kPcieGbps = 7.7;

struct Machine {
  const char* name;
  double topology_gbps;  // of a link, in the topology
  double usable_gbps;    // of a link, in the rate model
};

struct Gains {
  double max = 0;
  double sum_of_logs = 0;
  int count = 0;

  void add(double gain) {
    max = std::max(max, gain);
    sum_of_logs += std::log(gain);
    ++count;
  }
  [[nodiscard]] double mean() const { return std::exp(sum_of_logs / count); }
};

// Of this process: others on the machine do not count.
inline double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// What trees carry over what rings do; rings are `num_rings` times `per_ring` links.
inline double gain(const Machine& machine, double trees, double num_rings, double per_ring) {
  const double rings =
      num_rings > 0 ? num_rings * per_ring * machine.usable_gbps : kPcieGbps * per_ring;
  return trees * machine.usable_gbps / rings;
}

inline bool reaches_bound(const Packing& packing) {
  return packing.routed_gbps > packing.bound_gbps * (1 - 1e-9);
}

// Directed rings over NVLinks, in links; 0 where there is none.
inline int num_rings(const topo::Topology& topology, const Packing& packing,
                     const Machine& machine) {
  const auto rings =
      plan::packing::find_rings(topology, packing.fabric, plan::packing::LinkSharing::kWholeLinks);
  if (!rings || !rings->on_fabric) return 0;
  return static_cast<int>(std::lround(rings->gbps / machine.topology_gbps));
}

struct AllRoots {
  double least_gbps = 0;
  uint32_t depth = 0;  // of the deepest
  bool reach_bound = true;
};

inline AllRoots broadcast_of(const topo::Topology& topology) {
  AllRoots all;
  const uint32_t n = topology.num_ranks();
  for (uint32_t root = 0; root < n; ++root) {
    const Packing packing =
        plan::packing::pack({CollectiveKind::kBroadcast, n, root}, topology).value();
    all.least_gbps =
        root == 0 ? packing.routed_gbps : std::min(all.least_gbps, packing.routed_gbps);
    all.depth = std::max(all.depth, packing.depth);
    all.reach_bound = all.reach_bound && reaches_bound(packing);
  }
  return all;
}

inline constexpr Machine kDgx1p = {"dgx-1p", 20, 18.5};
inline constexpr Machine kDgx1v = {"dgx-1v", 25, 22.5};

}  // namespace tutti::bench
