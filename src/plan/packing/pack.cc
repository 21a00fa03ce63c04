#include "plan/packing/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/invalid.h"
#include "base/try.h"
#include "plan/packing/arborescences.h"
#include "plan/packing/blink.h"
#include "plan/packing/shallow.h"
#include "plan/packing/spanning_trees.h"
#include "plan/packing/split.h"
#include "topo/router.h"

namespace tutti::plan::packing {
namespace {

// Each share is a chunk of its own; where the exact optimum needs more than this many of a block
// the best with this many is taken, and the ratio to the bound says what that costs.
constexpr int64_t kMaxShares = 64;
constexpr int64_t kMaxSharesOfMany = 16;  // ranks, beyond kMaxExactRanks
// Undirected trees come one by one, and each is a pipeline with lanes of its own.
constexpr int64_t kMaxSpanningTrees = 48;
// Up to here, where the routes alone do not reach the bound, other ways through switches and other
// kinds of trees are tried, which takes a flow for every pair of links and every rank.
constexpr uint32_t kMaxExactRanks = 16;
// To round capacities down to shares, capacities are made fine first.
constexpr int64_t kFine = 1024;

bool is_upward(CollectiveKind kind) {
  return kind == CollectiveKind::kReduce || kind == CollectiveKind::kReduceScatter;
}

bool has_block_per_rank(CollectiveKind kind) {
  return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter;
}

std::vector<int64_t> demand_of(const Collective& collective) {
  std::vector<int64_t> demand(collective.num_ranks, has_block_per_rank(collective.kind) ? 1 : 0);
  demand[collective.root] = 1;
  return demand;
}

std::vector<int64_t> times(std::vector<int64_t> demand, int64_t factor) {
  for (int64_t& each : demand) each *= factor;
  return demand;
}

// A graph in whose units every demand gets `shares`.
struct Scaled {
  Graph graph;
  int64_t shares = 0;
};

// The fewest shares that reach the rate with every link's capacity rounded down to whole shares;
// where that takes more than max_shares, so many, each as large as fits.
template <class Supports>
Scaled scale(const Graph& graph, Fraction rate, int64_t max_shares, Supports is_supported) {
  for (int64_t shares = 1; shares <= max_shares; ++shares) {
    Graph rounded = scaled(graph, shares * rate.denominator(), rate.numerator());
    if (is_supported(rounded, shares)) return {std::move(rounded), shares};
  }
  const Graph fine = scaled(graph, kFine, 1);
  int64_t fits = 0;
  int64_t too_large = boost::rational_cast<int64_t>(rate * kFine / max_shares) + 1;
  while (too_large - fits > 1) {
    const int64_t share = fits + (too_large - fits) / 2;
    (is_supported(scaled(fine, 1, share), max_shares) ? fits : too_large) = share;
  }
  TUTTI_CHECK(fits > 0, "a share of one fine unit fits: there are more units than shares");
  return {scaled(fine, 1, fits), max_shares};
}

int64_t max_shares(const Graph& graph) {
  return graph.num_ranks <= kMaxExactRanks ? kMaxShares : kMaxSharesOfMany;
}

Scaled scale_for_trees(const Graph& graph, const std::vector<int64_t>& demand, Fraction rate) {
  return scale(graph, rate, max_shares(graph), [&](const Graph& rounded, int64_t shares) {
    return supports(rounded, times(demand, shares));
  });
}

struct Trees {
  std::vector<Tree> trees;
  double gbps = 0;  // for each unit of demand
};

// None where there is no share.
Trees trees_on(const Scaled& fit, const std::vector<int64_t>& demand) {
  if (fit.shares == 0) return {};
  const auto trees = pack_arborescences(fit.graph, times(demand, fit.shares));
  return {merged(made_shallow(fit.graph, unmerged(trees))),
          static_cast<double>(fit.shares) * fit.graph.unit_gbps};
}

bool has_switches(const Graph& graph) {
  for (uint32_t w = graph.num_ranks; w < graph.num_nodes(); ++w) {
    for (const int64_t units : graph.capacity[w]) {
      if (units > 0) return true;
    }
  }
  return false;
}

// Out-trees; `rate` is the least cut's.
Trees out_trees(const Graph& graph, const std::vector<int64_t>& demand, Fraction rate, Ways ways) {
  Scaled fit = scale_for_trees(graph, demand, rate);
  const bool with_switches = has_switches(graph);
  const auto split = [&] {
    fit.graph = without_switches(fit.graph, times(demand, fit.shares), ways);
    if (!supports(fit.graph, times(demand, fit.shares))) {
      // Ways were lacking, or a switch takes in more than it gives out. Then the most that is left,
      // split in fine units so that rounding costs nothing more.
      const Graph fine = scaled(graph, kFine, 1);
      const auto shares = boost::rational_cast<int64_t>(rate * kFine);
      const Graph logical = without_switches(fine, times(demand, shares), Ways::kEvenly);
      const Fraction rest = least_cut(logical, demand).rate;
      fit = rest > 0 ? scale_for_trees(logical, demand, rest) : Scaled{logical, 0};
    }
  };
  const Scaled before = fit;
  split();
  Trees best = trees_on(fit, demand);
  // One root behind a crossbar: with a share for each other rank every one of them passes its share
  // on to all, in two hops; with one share there is but a chain.
  const int64_t others = int64_t{graph.num_ranks} - 1;
  const bool is_rooted = std::count(demand.begin(), demand.end(), 0) > 0;
  if (!with_switches || !is_rooted || before.shares * others > kMaxShares) {
    return best;
  }
  fit = {scaled(before.graph, others, 1), before.shares * others};
  split();
  Trees finer = trees_on(fit, demand);
  return finer.gbps >= best.gbps && max_depth(finer.trees) < max_depth(best.trees) ? finer : best;
}

// The slower direction of each pair both ways.
Graph both_ways(const Graph& graph) {
  Graph result = graph;
  const Graph back = reversed(graph);
  for (uint32_t a = 0; a < graph.num_nodes(); ++a) {
    for (uint32_t b = 0; b < graph.num_nodes(); ++b) {
      result.capacity[a][b] = std::min(graph.capacity[a][b], back.capacity[a][b]);
    }
  }
  return result;
}

// Undirected trees between ranks.
Trees spanning_trees(const Graph& graph, Fraction rate) {
  const Scaled fit = scale(graph, rate, kMaxSpanningTrees, [](const Graph& rounded, int64_t count) {
    return least_partition(rounded).rate >= Fraction(count);
  });
  std::vector<Tree> trees = pack_spanning_trees(fit.graph, fit.shares);
  TUTTI_CHECK(std::cmp_equal(trees.size(), fit.shares), "as many trees as the partition bound");
  return {merged(made_shallow_undirected(fit.graph, std::move(trees))),
          static_cast<double>(fit.shares) * fit.graph.unit_gbps};
}

Graph ranks_only(Graph graph) {
  graph.capacity.resize(graph.num_ranks);
  for (auto& row : graph.capacity) row.resize(graph.num_ranks);
  return graph;
}

// Trees that go up and down: those of all_gather, up and down, at half the rate each.
Trees two_way_trees(const Graph& given, Ways ways) {
  const Graph graph = both_ways(given);
  const std::vector<int64_t> demand(graph.num_ranks, 1);
  Trees trees = out_trees(graph, demand, least_cut(graph, demand).rate, ways);
  trees.gbps *= graph.num_ranks / 2.0;
  return trees;
}

// Undirected trees, on what splitting the switches leaves where there are some.
Trees undirected_trees(const Graph& given, Ways ways) {
  Graph graph = both_ways(given);
  if (has_switches(graph)) {
    const std::vector<int64_t> demand(graph.num_ranks, 1);
    const auto shares = boost::rational_cast<int64_t>(least_cut(graph, demand).rate * kFine);
    graph = without_switches(scaled(graph, kFine, 1), times(demand, shares), ways);
    graph = both_ways(graph);
  }
  graph = ranks_only(std::move(graph));
  const Fraction rate = least_partition(graph).rate;
  return rate > 0 ? spanning_trees(graph, rate) : Trees{};
}

// What fraction of the message a tree's edges carry.
double fraction_of(const std::vector<Tree>& trees, const Tree& tree) {
  double all = 0;
  for (const Tree& each : trees) all += static_cast<double>(each.weight);
  return static_cast<double>(tree.weight) / all;
}

// Zero where a tree has an edge that no message can take.
double routed_rate(const Collective& collective, const topo::Topology& topology,
                   const std::vector<Tree>& trees) {
  topo::Router router(topology);
  std::vector<double> load(topology.links.size(), 0);
  bool has_routes = true;
  const auto send = [&](uint32_t from, uint32_t to, double amount) {
    const auto route = router.route(Rank{from}, Rank{to});
    has_routes = has_routes && route.ok();
    if (!route) return;
    for (const topo::LinkId link : *route) load[link.value] += amount;
  };
  const bool goes_down = !is_upward(collective.kind);
  const bool goes_up = is_reducing(collective.kind);
  for (const Tree& tree : trees) {
    const double amount = fraction_of(trees, tree);
    for (uint32_t r = 0; r < tree.parent.size(); ++r) {
      if (tree.parent[r] == kNoParent) continue;
      if (goes_down) send(tree.parent[r], r, amount);
      if (goes_up) send(r, tree.parent[r], amount);
    }
  }
  if (!has_routes || trees.empty()) return 0;
  double rate = std::numeric_limits<double>::infinity();
  for (size_t l = 0; l < load.size(); ++l) {
    if (load[l] > 0) rate = std::min(rate, topology.links[l].gbps / load[l]);
  }
  return rate;
}

Bound bound_of(const Collective& collective, const Graph& graph) {
  if (collective.kind == CollectiveKind::kAllReduce) return least_partition(graph);
  if (!is_upward(collective.kind)) return least_cut(graph, demand_of(collective));
  Bound bound = least_cut(reversed(graph), demand_of(collective));
  bound.is_entering = true;
  return bound;
}

double gbps_of(const Collective& collective, const Graph& graph, Fraction rate) {
  const double each = boost::rational_cast<double>(rate) * graph.unit_gbps;
  return has_block_per_rank(collective.kind) ? each * collective.num_ranks : each;
}

bool is_best(const Packing& packing) {
  return packing.routed_gbps >= packing.bound_gbps * (1 - kRounding);
}

void keep_if_better(const Collective& collective, const topo::Topology& topology, Trees trees,
                    Packing& packing) {
  const double routed = routed_rate(collective, topology, trees.trees);
  if (routed <= packing.routed_gbps * (1 + kRounding)) return;
  packing.trees = std::move(trees.trees);
  packing.trees_gbps = trees.gbps;
  packing.routed_gbps = routed;
}

// Trees for one choice of ways.
void try_ways(const Collective& collective, const topo::Topology& topology, Ways ways,
              Packing& packing) {
  const Graph& graph = packing.fabric.graph;
  if (collective.kind != CollectiveKind::kAllReduce) {
    Trees trees = out_trees(is_upward(collective.kind) ? reversed(graph) : graph,
                            demand_of(collective), packing.bound.rate, ways);
    if (has_block_per_rank(collective.kind)) trees.gbps *= collective.num_ranks;
    keep_if_better(collective, topology, std::move(trees), packing);
    return;
  }
  // Behind switches the trees of all_gather are the shallower ones.
  if (has_switches(graph)) {
    keep_if_better(collective, topology, two_way_trees(graph, ways), packing);
  }
  const bool is_many = has_switches(graph) && graph.num_ranks > kMaxExactRanks;
  if (is_best(packing) || is_many) return;
  keep_if_better(collective, topology, undirected_trees(graph, ways), packing);
}

Status add_trees(const Collective& collective, const topo::Topology& topology, Method method,
                 Packing& packing) {
  if (method == Method::kBlink) {
    packing.trees = blink_trees(packing.fabric.graph, collective.root, packing.trees_gbps);
    packing.routed_gbps = routed_rate(collective, topology, packing.trees);
  } else {
    const bool is_small = collective.num_ranks <= kMaxExactRanks;
    const bool is_quick = is_small || is_rooted(collective.kind);
    try_ways(collective, topology, is_quick ? Ways::kRoutesOnly : Ways::kEvenly, packing);
    if (!is_best(packing) && (is_small || packing.routed_gbps == 0)) {
      try_ways(collective, topology, Ways::kAny, packing);
    }
  }
  if (packing.routed_gbps == 0) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("no trees were found for {} on {} whose every edge a message can take",
                             to_string(collective.kind), topology.name)};
  }
  packing.depth = max_depth(packing.trees);
  return {};
}

Status check_request(const Collective& collective, const topo::Topology& topology, Method method) {
  if (!is_packed(collective.kind, method)) {
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("{} of trees: {} is not made of trees; {}",
                    method == Method::kBlink ? "blink" : "packed", to_string(collective.kind),
                    method == Method::kBlink
                        ? "blink packs broadcast"
                        : "packed serves broadcast, reduce, all_gather, reduce_scatter and "
                          "all_reduce")};
  }
  if (collective.num_ranks == 0 || collective.root >= collective.num_ranks) {
    return invalid(
        fmt::format("root {} is not one of {} ranks", collective.root, collective.num_ranks));
  }
  if (collective.num_ranks != topology.num_ranks()) {
    return invalid(fmt::format("{} ranks were asked for and {} has {}; choose ranks of it",
                               collective.num_ranks, topology.name, topology.num_ranks()));
  }
  return {};
}

}  // namespace

bool is_packed(CollectiveKind kind, Method method) {
  switch (kind) {
    case CollectiveKind::kBroadcast: return true;
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduce:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter: return method == Method::kExact;
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
    case CollectiveKind::kBarrier:
    case CollectiveKind::kSendRecv: return false;
  }
  return false;
}

Result<Packing> pack(const Collective& collective, const topo::Topology& topology, Method method) {
  TUTTI_TRY(check_request(collective, topology, method));
  Packing packing;
  TUTTI_ASSIGN(packing.fabric, fabric_of(topology));
  if (collective.num_ranks == 1) return packing;
  const Graph& graph = packing.fabric.graph;
  packing.bound = bound_of(collective, graph);
  packing.bound_gbps = gbps_of(collective, graph, packing.bound.rate);
  const Graph& whole = packing.fabric.whole;
  packing.whole_gbps = gbps_of(collective, whole, bound_of(collective, whole).rate);
  TUTTI_TRY(add_trees(collective, topology, method, packing));
  return packing;
}

}  // namespace tutti::plan::packing
