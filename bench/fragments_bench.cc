// Every shape of fragment of a DGX-1P and a DGX-1V: how fast packed trees are there, and how much
// faster than rings. Rates are in links, exact; every root is packed, and each must reach its
// bound.
// Gains are in the rate model of fragment_gains.h. Nothing here runs on GPUs.
#include <fmt/format.h>

#include <string>

#include "bench/fragment_gains.h"
#include "bench/fragments.h"
#include "plan/packing/pack.h"
#include "topo/open.h"
#include "topo/variants.h"

namespace {

using namespace tutti;
using namespace tutti::bench;

std::string ranks_text(const std::vector<Rank>& ranks) {
  std::string text;
  for (const Rank r : ranks) text += fmt::format("{}{}", text.empty() ? "" : ",", r.value);
  return text;
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
  print_machine(kDgx1p);
  print_machine(kDgx1v);
}
