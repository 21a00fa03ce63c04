#include "plan/packing/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/invalid.h"
#include "base/try.h"
#include "plan/packing/arborescences.h"
#include "plan/packing/blink.h"
#include "plan/packing/repair.h"
#include "plan/packing/shallow.h"
#include "plan/packing/shares.h"
#include "plan/packing/spanning_trees.h"
#include "plan/packing/split.h"
#include "topo/router.h"

namespace tutti::plan::packing {
namespace {

// Each share is a chunk of its own; where the exact optimum needs more than this many of a block
// the best with this many is taken, and the ratio to the bound says what that costs.
constexpr int64_t kMaxShares = 64;
constexpr int64_t kMaxSharesOfMany = 32;  // ranks, beyond kMaxExactRanks
// Undirected trees come one by one, and each is a pipeline with lanes of its own.
constexpr int64_t kMaxSpanningTrees = 48;
// Up to here, where the routes alone do not reach the bound, other ways through switches and other
// kinds of trees are tried, which takes a flow for every pair of links and every rank.
constexpr uint32_t kMaxExactRanks = 16;
// Before ways through switches are cut, capacities are made fine.
constexpr int64_t kFine = 1024;
// What trees that are deeper must gain in rate.
constexpr double kWorthDepth = 1.01;

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

ShareCount share_count(const Graph& graph) {
  return {1, graph.num_ranks <= kMaxExactRanks ? kMaxShares : kMaxSharesOfMany};
}

Scaled cut_for_trees(const Graph& graph, const std::vector<int64_t>& demand, Fraction rate,
                     const ShareCount& count) {
  return cut_into_shares(graph, rate, count, [&](const Graph& in_shares, int64_t shares) {
    return supports(in_shares, times(demand, shares));
  });
}

struct Trees {
  std::vector<Tree> trees;
  double gbps = 0;  // for each unit of demand
  int64_t shares = 0;
};

// None where there is no share.
Trees trees_on(const Scaled& fit, const std::vector<int64_t>& demand) {
  if (fit.shares == 0) return {};
  const auto trees = pack_arborescences(fit.graph, times(demand, fit.shares));
  return {merged(made_shallow(fit.graph, unmerged(trees))),
          static_cast<double>(fit.shares) * fit.graph.unit_gbps, fit.shares};
}

bool has_switches(const Graph& graph) {
  for (uint32_t w = graph.num_ranks; w < graph.num_nodes(); ++w) {
    for (const int64_t units : graph.capacity[w]) {
      if (units > 0) return true;
    }
  }
  return false;
}

// With balanced switches where these lose nothing: splitting then loses nothing either.
Graph ready_to_split(const Graph& graph, const std::vector<int64_t>& demand, Fraction rate) {
  if (!has_switches(graph)) return graph;
  Graph even = balanced(graph);
  const double wanted = boost::rational_cast<double>(rate) * graph.unit_gbps;
  const double left = boost::rational_cast<double>(least_cut(even, demand).rate) * even.unit_gbps;
  return left >= wanted * (1 - kRounding) ? even : graph;
}

// Out-trees; `rate` is the bound's.
Trees out_trees(const Graph& given, const std::vector<int64_t>& demand, Fraction given_rate,
                Ways ways, const ShareCount& count) {
  const Graph graph = ready_to_split(given, demand, given_rate);
  const Fraction rate =
      given_rate * static_cast<int64_t>(std::llround(given.unit_gbps / graph.unit_gbps));
  Scaled fit = cut_for_trees(graph, demand, rate, count);
  const bool with_switches = has_switches(graph);
  const auto split = [&] {
    fit.graph = without_switches(fit.graph, times(demand, fit.shares), ways);
    if (!supports(fit.graph, times(demand, fit.shares))) {
      // Ways were lacking, or a switch takes in more than it gives out. Then the most that is left,
      // split in fine units so that rounding costs nothing more.
      const Graph fine = scaled(given, kFine, 1);
      const auto shares = boost::rational_cast<int64_t>(given_rate * kFine);
      const Graph logical = without_switches(fine, times(demand, shares), Ways::kEvenly);
      const Fraction rest = least_cut(logical, demand).rate;
      fit = rest > 0 ? cut_for_trees(logical, demand, rest, count) : Scaled{logical, 0};
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
  const Scaled fit = cut_into_shares(graph, rate, {1, kMaxSpanningTrees},
                                     [](const Graph& in_shares, int64_t count) {
                                       return least_partition(in_shares).rate >= Fraction(count);
                                     });
  std::vector<Tree> trees = pack_spanning_trees(fit.graph, fit.shares);
  TUTTI_CHECK(std::cmp_equal(trees.size(), fit.shares), "as many trees as the partition bound");
  return {merged(made_shallow_undirected(fit.graph, std::move(trees))),
          static_cast<double>(fit.shares) * fit.graph.unit_gbps, fit.shares};
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
  const Fraction rate = least_cut(graph, demand).rate;
  if (rate.numerator() == 0) return {};  // one-way links are all that joins some ranks
  Trees trees = out_trees(graph, demand, rate, ways, share_count(graph));
  trees.gbps *= graph.num_ranks / 2.0;
  return trees;
}

// Of the trees up and down at each root one pair after the other, the next of either side as its
// share is used up. Both sides have `shares` at every root that has any.
std::vector<Tree> paired(const std::vector<Tree>& up, const std::vector<Tree>& down) {
  std::vector<Tree> pairs;
  const uint32_t num_ranks = static_cast<uint32_t>(up.front().parent.size());
  for (uint32_t root = 0; root < num_ranks; ++root) {
    std::vector<Tree> rest;
    for (const Tree& tree : up) {
      if (tree.root == root) rest.push_back(tree);
    }
    for (const Tree& tree : down) {
      if (tree.root != root) continue;
      for (int64_t left = tree.weight; left > 0;) {
        Tree pair = {root, tree.parent, std::min(left, rest.back().weight), rest.back().parent};
        left -= pair.weight;
        rest.back().weight -= pair.weight;
        if (rest.back().weight == 0) rest.pop_back();
        pairs.push_back(std::move(pair));
      }
    }
  }
  return pairs;
}

// Up by the trees of reduce_scatter and down by those of all_gather, each on a part of every link:
// also where links go one way only, which no tree goes up and down.
Trees separate_trees(const Graph& graph, const std::vector<int64_t>& demand, Ways ways) {
  const Graph back = reversed(graph);
  Trees down = out_trees(graph, demand, least_cut(graph, demand).rate, ways, share_count(graph));
  if (down.shares == 0) return {};
  const ShareCount same = {down.shares, down.shares};
  const Trees up = out_trees(back, demand, least_cut(back, demand).rate, ways, same);
  if (up.shares != down.shares) return {};
  Trees trees = {paired(up.trees, down.trees), up.gbps * down.gbps / (up.gbps + down.gbps),
                 down.shares};
  trees.gbps *= static_cast<double>(std::accumulate(demand.begin(), demand.end(), int64_t{0}));
  return trees;
}

// Undirected trees, on what splitting the switches leaves where there are some.
Trees undirected_trees(const Graph& given, Ways ways) {
  Graph graph = both_ways(given);
  if (has_switches(graph)) {
    const std::vector<int64_t> demand(graph.num_ranks, 1);
    const auto shares = boost::rational_cast<int64_t>(least_cut(graph, demand).rate * kFine);
    if (shares == 0) return {};
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

Bound bound_of(const Collective& collective, const Graph& graph) {
  if (collective.kind == CollectiveKind::kAllReduce) return least_partition(graph);
  const bool is_up = is_upward(collective.kind);
  const Graph down = is_up ? reversed(graph) : graph;
  Bound bound = least_cut(down, demand_of(collective));
  if (Bound arrivals = least_arrivals(down, demand_of(collective)); arrivals.rate < bound.rate) {
    bound = std::move(arrivals);
  }
  if (is_up) bound.is_entering = !bound.is_entering;
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
                            demand_of(collective), packing.bound.rate, ways, share_count(graph));
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
  if (is_best(packing) || is_symmetric(graph)) return;
  keep_if_better(collective, topology,
                 separate_trees(graph, std::vector<int64_t>(graph.num_ranks, 1), ways), packing);
}

// Where the trees fall short of the bound, what mends trees after a failure may do them good too.
// Not beside slow links, which it would use, whatever the bound says.
void improve(const Collective& collective, const topo::Topology& topology, Packing& packing) {
  if (is_best(packing) || packing.routed_gbps == 0 || packing.fabric.leaves_slow) return;
  Result<Repaired> better = repair(collective, packing.trees, topology);
  if (!better) return;
  const bool is_deeper = max_depth(better->trees) > max_depth(packing.trees);
  const double worth = is_deeper ? kWorthDepth : 1 + kRounding;
  if (better->routed_gbps <= packing.routed_gbps * worth) return;
  packing.trees = std::move(better->trees);
  packing.routed_gbps = packing.trees_gbps = better->routed_gbps;
}

Status add_trees(const Collective& collective, const topo::Topology& topology, Method method,
                 Packing& packing) {
  if (method == Method::kBlink) {
    packing.trees = blink_trees(packing.fabric.graph, collective.root, packing.trees_gbps);
    packing.routed_gbps = routed_rate(collective, topology, packing.trees);
  } else {
    const bool is_small = collective.num_ranks <= kMaxExactRanks;
    try_ways(collective, topology, Ways::kRoutesOnly, packing);
    // Beside fast links only the routes are slow.
    const bool may_leave_routes = method == Method::kExact;
    if (may_leave_routes && !is_best(packing) && (is_small || packing.routed_gbps == 0)) {
      try_ways(collective, topology, Ways::kAny, packing);
    }
  }
  if (packing.routed_gbps == 0) {
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("no trees were found for {} on {} whose every edge a message can take; "
                    "--algo greedy needs none",
                    to_string(collective.kind), topology.name)};
  }
  if (method == Method::kExact) improve(collective, topology, packing);
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
    case CollectiveKind::kReduceScatter: return method != Method::kBlink;
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
    case CollectiveKind::kBarrier:
    case CollectiveKind::kSendRecv: return false;
  }
  return false;
}

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
      if (r == tree.root) continue;
      if (goes_down) send(tree.parent[r], r, amount);
      if (goes_up) send(r, tree.up_parent(r), amount);
    }
  }
  if (!has_routes || trees.empty()) return 0;
  double rate = std::numeric_limits<double>::infinity();
  for (size_t l = 0; l < load.size(); ++l) {
    if (load[l] > 0) rate = std::min(rate, topology.links[l].gbps / load[l]);
  }
  return rate;
}

Result<Packing> bounds_for(const Collective& collective, const topo::Topology& topology,
                           Method method) {
  TUTTI_TRY(check_request(collective, topology, method));
  Packing packing;
  TUTTI_ASSIGN(packing.fabric,
               fabric_of(topology, method == Method::kSlow ? Links::kSlow : Links::kFast));
  if (collective.num_ranks == 1) return packing;
  packing.bound = bound_of(collective, packing.fabric.graph);
  // Trees that go up and down want links that are the same both ways, which crossings are not. And
  // ranks that only parts of routes connect would be apart.
  if (collective.kind != CollectiveKind::kAllReduce) {
    Graph apart = with_crossings_apart(packing.fabric.graph);
    if (Bound sharper = bound_of(collective, apart); sharper.rate > 0) {
      packing.bound = std::move(sharper);
      packing.fabric.graph = std::move(apart);
    }
  }
  const Graph& graph = packing.fabric.graph;
  packing.bound_gbps = gbps_of(collective, graph, packing.bound.rate);
  const Graph& whole = packing.fabric.whole;
  packing.whole_gbps = gbps_of(collective, whole, bound_of(collective, whole).rate);
  if (const Graph& relayed = packing.fabric.relayed; relayed.num_nodes() > 0) {
    packing.relay_gbps = gbps_of(collective, relayed, bound_of(collective, relayed).rate);
  }
  return packing;
}

Result<Packing> pack(const Collective& collective, const topo::Topology& topology, Method method) {
  TUTTI_ASSIGN(Packing packing, bounds_for(collective, topology, method));
  if (collective.num_ranks == 1) return packing;
  TUTTI_TRY(add_trees(collective, topology, method, packing));
  return packing;
}

}  // namespace tutti::plan::packing
