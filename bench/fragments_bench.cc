// Every shape of fragment of a DGX-1P and a DGX-1V: how fast packed trees are there, and how much
// faster than rings. Rates are in links, exact; every root is packed, and each must reach its
// bound.
//
// Gains are in the rate model that Blink's published gains fit: a link carries 22.5 GB/s (DGX-1V)
// or 18.5 GB/s (DGX-1P), and where no ring through all GPUs exists, NCCL 2 goes over PCIe at 7.7
// GB/s. Nothing here runs on GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <string>

#include "bench/fragments.h"
#include "plan/packing/pack.h"
#include "plan/packing/rings.h"
#include "topo/open.h"
#include "topo/variants.h"

namespace {

using namespace tutti;
using plan::packing::Packing;

constexpr double kPcieGbps = 7.7;

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
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// What trees carry over what rings do; rings are `num_rings` times `per_ring` links.
double gain(const Machine& machine, double trees, double num_rings, double per_ring) {
  const double rings =
      num_rings > 0 ? num_rings * per_ring * machine.usable_gbps : kPcieGbps * per_ring;
  return trees * machine.usable_gbps / rings;
}

std::string ranks_text(const std::vector<Rank>& ranks) {
  std::string text;
  for (const Rank r : ranks) text += fmt::format("{}{}", text.empty() ? "" : ",", r.value);
  return text;
}

bool reaches_bound(const Packing& packing) {
  return packing.routed_gbps > packing.bound_gbps * (1 - 1e-9);
}

// Directed rings over NVLinks, in links; 0 where there is none.
int num_rings(const topo::Topology& topology, const Packing& packing, const Machine& machine) {
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

AllRoots broadcast_of(const topo::Topology& topology) {
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

void print_machine(const Machine& machine) {
  const topo::Topology whole = topo::open(machine.name).value();
  const double start = cpu_seconds();
  Gains broadcast_gains;
  Gains all_reduce_gains;
  int num_optimal = 0;
  const auto fragments = bench::fragments_of(whole);
  fmt::print("\n{}: {} shapes\n", machine.name, fragments.size());
  fmt::print("{:<18}{:>8}{:>8}{:>7}{:>7}{:>7}{:>12}{:>9}{:>7}\n", "GPUs", "subsets", "bcast",
             "depth", "rings", "gain", "all_reduce", "by ring", "gain");
  for (const bench::Fragment& fragment : fragments) {
    const topo::Topology topology = topo::subset(whole, fragment.ranks).value();
    const uint32_t n = topology.num_ranks();
    const AllRoots down = broadcast_of(topology);
    const Packing both = plan::packing::pack({CollectiveKind::kAllReduce, n}, topology).value();
    const double trees = down.least_gbps / machine.topology_gbps;
    const double two_way = both.routed_gbps / machine.topology_gbps;
    const int rings = num_rings(topology, both, machine);
    const double per_ring = n / (2.0 * (n - 1));
    broadcast_gains.add(gain(machine, trees, rings, 1));
    all_reduce_gains.add(gain(machine, two_way, rings, per_ring));
    num_optimal += down.reach_bound && reaches_bound(both) ? 1 : 0;
    fmt::print("{:<18}{:>8}{:>8.3f}{:>7}{:>7}{:>7.2f}{:>12.3f}{:>9.3f}{:>7.2f}\n",
               ranks_text(fragment.ranks), fragment.num_subsets, trees, down.depth, rings,
               gain(machine, trees, rings, 1), two_way, rings * per_ring,
               gain(machine, two_way, rings, per_ring));
  }
  fmt::print("{} of {} reach the bound, every root; {:.2f} s of one core\n", num_optimal,
             fragments.size(), cpu_seconds() - start);
  fmt::print("broadcast gain: max {:.2f}, geometric mean {:.2f}\n", broadcast_gains.max,
             broadcast_gains.mean());
  fmt::print("all_reduce gain: max {:.2f}, geometric mean {:.2f}\n", all_reduce_gains.max,
             all_reduce_gains.mean());
}

}  // namespace

int main() {
  print_machine({"dgx-1p", 20, 18.5});
  print_machine({"dgx-1v", 25, 22.5});
}
