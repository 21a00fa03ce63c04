// Every figure that packing and selection are to reach, in one table: aim, measured, met.
//
//   synthesis_figures_bench [SECTION...]   all, or some of: fragments depths all_gather random
//   times
//
// Exits with 1 where one is not met. Rates are models, not measured on GPUs; times are CPU times of
// one core.
#include <fmt/format.h>

#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/fragment_gains.h"
#include "bench/fragments.h"
#include "bench/random_digraphs.h"
#include "plan/packing/arborescences.h"
#include "plan/packing/spanning_trees.h"
#include "plan/packing/split.h"
#include "topo/open.h"
#include "topo/variants.h"

namespace {

using namespace tutti;
using namespace tutti::bench;

int num_missed = 0;

void print_row(const std::string& what, const std::string& aim, const std::string& measured,
               bool is_met) {
  fmt::print("{:<58}{:<30}{:<34}{}\n", what, aim, measured, is_met ? "yes" : "NO");
  std::fflush(stdout);
  num_missed += is_met ? 0 : 1;
}

Packing packed(CollectiveKind kind, const topo::Topology& topology, uint32_t root = 0) {
  return plan::packing::pack({kind, topology.num_ranks(), root}, topology).value();
}

struct GainAims {
  double most_from;  // what Blink published, as the rate model reproduces it
  double most_to;
  double mean_from;
  double mean_to;
};

// Returns the time that packing took.
double print_fragments(const Machine& machine, const GainAims& aims) {
  const topo::Topology whole = topo::open(machine.name).value();
  const auto fragments = fragments_of(whole);
  Gains gains;
  int num_optimal = 0;
  const double start = cpu_seconds();
  for (const Fragment& fragment : fragments) {
    const topo::Topology topology = topo::subset(whole, fragment.ranks).value();
    const AllRoots down = broadcast_of(topology);
    const Packing both = packed(CollectiveKind::kAllReduce, topology);
    num_optimal += down.reach_bound && reaches_bound(both) ? 1 : 0;
    gains.add(gain(machine, down.least_gbps / machine.topology_gbps,
                   num_rings(topology, both, machine), 1));
  }
  const double seconds = cpu_seconds() - start;
  print_row(fmt::format("{} fragments at their bound, every root", machine.name),
            fmt::format("{0} of {0}", fragments.size()),
            fmt::format("{} of {}", num_optimal, fragments.size()),
            std::cmp_equal(num_optimal, fragments.size()));
  print_row(fmt::format("{} broadcast gain over rings, max", machine.name),
            fmt::format("{} to {}", aims.most_from, aims.most_to), fmt::format("{:.2f}", gains.max),
            gains.max >= aims.most_from && gains.max <= aims.most_to);
  print_row(fmt::format("{} broadcast gain over rings, geometric mean", machine.name),
            fmt::format("{} to {}", aims.mean_from, aims.mean_to),
            fmt::format("{:.2f}", gains.mean()),
            gains.mean() >= aims.mean_from && gains.mean() <= aims.mean_to);
  return seconds;
}

void print_all_fragments() {
  const double seconds = print_fragments(kDgx1p, {2.4, 3.7, 1.45, 1.7}) +
                         print_fragments(kDgx1v, {5.8, 6.2, 1.9, 2.1});
  print_row("all fragments, every root", "under 5 s", fmt::format("{:.2f} s", seconds),
            seconds < 5);
}

void print_depths() {
  struct Aim {
    const char* machine;
    uint32_t root;
    uint32_t depth;
  };
  for (const Aim& aim : {Aim{"dgx-1p", 0, 3}, Aim{"dgx-1v", 0, 4}, Aim{"dgx-1v", 1, 4},
                         Aim{"dgx-1v", 2, 5}, Aim{"dgx-1v", 3, 5}}) {
    const Packing packing =
        packed(CollectiveKind::kBroadcast, topo::open(aim.machine).value(), aim.root);
    print_row(
        fmt::format("{} root {}: depth of a full-rate packing", aim.machine, aim.root),
        fmt::format("{}, full rate", aim.depth),
        fmt::format("{}, {:.1f} %", packing.depth, 100 * packing.routed_gbps / packing.bound_gbps),
        packing.depth == aim.depth && reaches_bound(packing));
  }
}

struct AllGatherAim {
  const char* name;
  double factor;  // on the machine's rates, so that they are those of the reference
  double gbps;
  uint32_t depth;  // no more than ForestColl's, or 1 where one hop attains the optimum
};

void print_all_gather() {
  const AllGatherAim aims[] = {
      {"dgx-1p", 0.9, 82.29, 3},     {"dgx-1v", 1, 171.43, 5},      {"dgx-2", 1, 160.00, 1},
      {"dgx-a100", 1, 342.86, 1},    {"mi250x", 1, 342.86, 14},     {"ndv2*2", 1, 25.00, 5},
      {"dgx-a100*2", 1, 346.67, 11}, {"dgx-h100*2", 1, 533.33, 11}, {"dgx-a100*4", 1, 266.67, 19},
  };
  for (const AllGatherAim& aim : aims) {
    topo::Topology topology = topo::open(aim.name).value();
    for (topo::Link& link : topology.links) link.gbps *= aim.factor;
    const double start = cpu_seconds();
    const Packing packing = packed(CollectiveKind::kAllGather, topology);
    print_row(fmt::format("all_gather {}", aim.name),
              fmt::format("{} GB/s, depth <= {}", aim.gbps, aim.depth),
              fmt::format("{:.2f} GB/s, depth {}, {:.2f} s", packing.routed_gbps, packing.depth,
                          cpu_seconds() - start),
              packing.routed_gbps >= aim.gbps - 0.005 && packing.depth <= aim.depth);
  }
}

constexpr int kNumGraphs = 1000;

template <class IsRight>
void print_random(const char* what, const IsRight& is_right) {
  std::mt19937 random(20261118);
  int num_right = 0;
  for (int i = 0; i < kNumGraphs; ++i) num_right += is_right(random) ? 1 : 0;
  print_row(what, fmt::format("{0} of {0}", kNumGraphs),
            fmt::format("{} of {}", num_right, kNumGraphs), num_right == kNumGraphs);
}

uint32_t between(std::mt19937& random, uint32_t least, uint32_t most) {
  return least + static_cast<uint32_t>(random() % (most - least + 1));
}

int64_t weight_of_all(const std::vector<plan::packing::Tree>& trees) {
  int64_t sum = 0;
  for (const auto& tree : trees) sum += tree.weight;
  return sum;
}

void print_random_graphs() {
  print_random("random digraphs: trees of a root = least cut", [](std::mt19937& random) {
    const Graph graph = random_digraph(between(random, 2, 10), 0, Sides::kDirected, random);
    std::vector<int64_t> demand(graph.num_ranks, 0);
    demand[0] = 1;
    const Fraction cut = best_cut(graph, demand);
    demand[0] = cut.numerator();
    return weight_of_all(plan::packing::pack_arborescences(graph, demand)) == cut.numerator();
  });
  print_random("random graphs: spanning trees = best partition", [](std::mt19937& random) {
    const Graph graph = random_digraph(between(random, 2, 8), 0, Sides::kAlike, random);
    const auto count = boost::rational_cast<int64_t>(best_partition_of(graph));
    return std::cmp_equal(plan::packing::pack_spanning_trees(graph, count).size(), count);
  });
  print_random("random graphs with switches: all_gather = best cut", [](std::mt19937& random) {
    const Graph graph =
        random_digraph(between(random, 4, 10), between(random, 0, 2), Sides::kAlike, random);
    const std::vector<int64_t> ones(graph.num_ranks, 1);
    const Fraction cut = best_cut(graph, ones);
    const std::vector<int64_t> demand(graph.num_ranks, cut.numerator());
    const Graph split =
        plan::packing::without_switches(plan::packing::scaled(graph, cut.denominator(), 1), demand);
    return plan::packing::supports(split, demand) &&
           weight_of_all(plan::packing::pack_arborescences(split, demand)) ==
               cut.numerator() * graph.num_ranks;
  });
}

void print_times() {
  struct Case {
    const char* name;
    double seconds;
  };
  constexpr CollectiveKind kKinds[] = {CollectiveKind::kBroadcast, CollectiveKind::kAllGather,
                                       CollectiveKind::kReduceScatter, CollectiveKind::kAllReduce};
  for (const Case& at : {Case{"dgx-2", 1}, Case{"mi250x", 1}, Case{"ndv2*2", 1},
                         Case{"dgx-a100*2", 1}, Case{"dgx-h100*2", 1}, Case{"dgx-2*2", 60},
                         Case{"dgx-a100*4", 60}, Case{"rail:dgx-h100*8", 60}}) {
    const topo::Topology topology = topo::open(at.name).value();
    for (const CollectiveKind kind : kKinds) {
      const double start = cpu_seconds();
      const Packing packing = packed(kind, topology);
      const double seconds = cpu_seconds() - start;
      print_row(fmt::format("{} ranks: {} {}", topology.num_ranks(), at.name, to_string(kind)),
                fmt::format("under {} s", at.seconds),
                fmt::format("{:.2f} s, {:.2f} % of the bound", seconds,
                            100 * packing.routed_gbps / packing.bound_gbps),
                seconds < at.seconds);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  struct Section {
    std::string_view name;
    void (*print)();
  };
  const std::vector<std::string_view> wanted(argv + 1, argv + argc);
  fmt::print("{:<58}{:<30}{:<34}{}\n", "what", "aim", "measured", "met");
  for (const Section& section :
       {Section{"fragments", print_all_fragments}, Section{"depths", print_depths},
        Section{"all_gather", print_all_gather}, Section{"random", print_random_graphs},
        Section{"times", print_times}}) {
    const bool is_wanted = std::find(wanted.begin(), wanted.end(), section.name) != wanted.end();
    if (wanted.empty() || is_wanted) section.print();
  }
  fmt::print("{} not met\n", num_missed);
  return num_missed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
