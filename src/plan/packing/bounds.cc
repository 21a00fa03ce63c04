#include "plan/packing/bounds.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "plan/packing/flow.h"

namespace tutti::plan::packing {
namespace {

std::vector<uint32_t> members(const std::vector<bool>& inside, uint32_t num_nodes) {
  std::vector<uint32_t> nodes;
  for (uint32_t n = 0; n < num_nodes; ++n) {
    if (inside[n]) nodes.push_back(n);
  }
  return nodes;
}

int64_t demand_in(const std::vector<bool>& inside, const std::vector<int64_t>& demand) {
  int64_t sum = 0;
  for (size_t r = 0; r < demand.size(); ++r) sum += inside[r] ? demand[r] : 0;
  return sum;
}

// The set that leaves some rank unserved when each rank's demand is multiplied by `rate`.
std::optional<std::vector<bool>> violated(const Graph& graph, const std::vector<int64_t>& demand,
                                          Fraction rate) {
  const uint32_t source = graph.num_nodes();
  Flow flow(source + 1);
  for (uint32_t a = 0; a < graph.num_nodes(); ++a) {
    for (uint32_t b = 0; b < graph.num_nodes(); ++b) {
      if (graph.capacity[a][b] > 0) flow.add(a, b, graph.capacity[a][b] * rate.denominator());
    }
  }
  for (uint32_t r = 0; r < graph.num_ranks; ++r) {
    if (demand[r] > 0) flow.add(source, r, demand[r] * rate.numerator());
  }
  const int64_t total =
      std::accumulate(demand.begin(), demand.end(), int64_t{0}) * rate.numerator();
  for (uint32_t r = 0; r < graph.num_ranks; ++r) {
    if (flow.run(source, r) < total) return flow.source_side();
  }
  return std::nullopt;
}

Bound as_bound(const Graph& graph, const std::vector<bool>& inside, int64_t demand) {
  Bound bound;
  bound.crossing = leaving(graph, inside);
  bound.rate = Fraction(bound.crossing, demand);
  bound.groups = {members(inside, graph.num_nodes())};
  return bound;
}

// The ranks, if any, that cannot take in `rate` times what they need, and what messages into them
// carry. Each rank is two nodes: one sends, as much as its links take; the other, numbered after
// all nodes of the graph, takes in.
std::optional<Bound> short_of_arrivals(const Graph& graph, const std::vector<int64_t>& needed,
                                       Fraction rate) {
  const uint32_t n = graph.num_nodes();
  const auto taking = [&](uint32_t node) { return node < graph.num_ranks ? n + node : node; };
  const uint32_t source = n + graph.num_ranks;
  Flow flow(source + 2);
  for (uint32_t a = 0; a < n; ++a) {
    for (uint32_t b = 0; b < n; ++b) {
      const int64_t units = graph.capacity[a][b] * rate.denominator();
      if (units > 0) flow.add(a, taking(b), units);
    }
  }
  int64_t total = 0;
  for (uint32_t r = 0; r < graph.num_ranks; ++r) {
    flow.add(source, r, kUnlimited);
    flow.add(taking(r), source + 1, needed[r] * rate.numerator());
    total += needed[r] * rate.numerator();
  }
  if (flow.run(source, source + 1) == total) return std::nullopt;
  const std::vector<bool> before = flow.source_side();
  Bound bound;
  bound.is_entering = bound.is_by_arrivals = true;
  int64_t all_needed = 0;
  for (uint32_t r = 0; r < graph.num_ranks; ++r) {
    if (before[taking(r)] || needed[r] == 0) continue;
    bound.groups.push_back({r});
    all_needed += needed[r];
  }
  for (uint32_t a = 0; a < n; ++a) {
    for (uint32_t b = 0; b < n; ++b) {
      if (before[a] && !before[taking(b)]) bound.crossing += graph.capacity[a][b];
    }
  }
  bound.rate = Fraction(bound.crossing, all_needed);
  return bound;
}

// What leaves the ranks of `group`, with the switches around them that make it least.
int64_t least_leaving(const Graph& graph, const std::vector<uint32_t>& group) {
  if (group.size() == graph.num_ranks) return 0;
  const uint32_t source = graph.num_nodes();
  Flow flow(source + 2);
  flow.add_all(graph.capacity);
  std::vector<bool> inside(graph.num_ranks, false);
  for (const uint32_t r : group) inside[r] = true;
  for (uint32_t r = 0; r < graph.num_ranks; ++r) {
    inside[r] ? flow.add(source, r, kUnlimited) : flow.add(r, source + 1, kUnlimited);
  }
  return flow.run(source, source + 1);
}

// The partition of the ranks whose sum of g(S) = leaving(S) * rate.den - 2 * rate.num is least: the
// greedy algorithm of the Dilworth truncation. Rank by rank y(j) becomes the least
// g(S) - y(S without j) over sets S of ranks up to j that hold j, a minimum cut; S is then tight,
// and tight sets that meet may be joined.
std::vector<std::vector<uint32_t>> best_partition(const Graph& graph, Fraction rate) {
  const uint32_t sink = graph.num_nodes();
  std::vector<int64_t> y(graph.num_ranks, 0);
  std::vector<std::vector<uint32_t>> groups;
  for (uint32_t j = 0; j < graph.num_ranks; ++j) {
    Flow flow(sink + 1);
    for (uint32_t a = 0; a < graph.num_nodes(); ++a) {
      for (uint32_t b = 0; b < graph.num_nodes(); ++b) {
        if (graph.capacity[a][b] > 0) flow.add(a, b, graph.capacity[a][b] * rate.denominator());
      }
    }
    int64_t gain = 0;
    for (uint32_t i = 0; i < graph.num_ranks; ++i) {
      if (i > j) flow.add(i, sink, kUnlimited);
      if (i < j && y[i] > 0) flow.add(j, i, y[i]);
      if (i < j && y[i] < 0) flow.add(i, sink, -y[i]);
      if (i < j) gain += std::max<int64_t>(y[i], 0);
    }
    y[j] = flow.run(j, sink) - gain - 2 * rate.numerator();
    const std::vector<bool> tight = flow.source_side();
    std::vector<uint32_t> joined = {j};
    std::vector<std::vector<uint32_t>> kept;
    for (auto& group : groups) {
      const bool meets =
          std::any_of(group.begin(), group.end(), [&](uint32_t r) { return tight[r]; });
      if (meets) joined.insert(joined.end(), group.begin(), group.end());
      if (!meets) kept.push_back(std::move(group));
    }
    std::sort(joined.begin(), joined.end());
    kept.push_back(std::move(joined));
    groups = std::move(kept);
  }
  std::sort(groups.begin(), groups.end());
  return groups;
}

Bound partition_bound(const Graph& graph) {
  Bound best;
  for (uint32_t r = 0; r < graph.num_ranks; ++r) best.groups.push_back({r});
  for (;;) {
    best.crossing = 0;
    for (const auto& group : best.groups) best.crossing += least_leaving(graph, group);
    best.rate = Fraction(best.crossing, 2 * (static_cast<int64_t>(best.groups.size()) - 1));
    auto groups = best_partition(graph, best.rate);
    if (groups.size() == 1) return best;
    int64_t crossing = 0;
    for (const auto& group : groups) crossing += least_leaving(graph, group);
    const Fraction rate(crossing, 2 * (static_cast<int64_t>(groups.size()) - 1));
    if (rate >= best.rate) return best;
    best.groups = std::move(groups);
  }
}

}  // namespace

int64_t leaving(const Graph& graph, const std::vector<bool>& inside) {
  int64_t sum = 0;
  for (uint32_t a = 0; a < graph.num_nodes(); ++a) {
    for (uint32_t b = 0; b < graph.num_nodes(); ++b) {
      if (inside[a] && !inside[b]) sum += graph.capacity[a][b];
    }
  }
  return sum;
}

// Newton's way down: every violated set is a lower ratio, and there are finitely many.
Bound least_cut(const Graph& graph, const std::vector<int64_t>& demand) {
  std::vector<bool> inside(graph.num_nodes() + 1, true);
  uint32_t outside = 0;
  while (demand_in(inside, demand) == demand[outside]) ++outside;
  inside[outside] = false;
  Bound bound = as_bound(graph, inside, demand_in(inside, demand));
  while (const auto lower = violated(graph, demand, bound.rate)) {
    bound = as_bound(graph, *lower, demand_in(*lower, demand));
  }
  return bound;
}

// Newton's way down again, from a rate that one rank alone cannot take in.
Bound least_arrivals(const Graph& graph, const std::vector<int64_t>& demand) {
  const int64_t total = std::accumulate(demand.begin(), demand.end(), int64_t{0});
  std::vector<int64_t> needed;
  for (const int64_t own : demand) needed.push_back(total - own);
  int64_t all_links = 1;
  for (const auto& row : graph.capacity) {
    all_links = std::accumulate(row.begin(), row.end(), all_links);
  }
  Bound bound;
  bound.rate = all_links;
  while (auto lower = short_of_arrivals(graph, needed, bound.rate)) bound = *std::move(lower);
  return bound;
}

bool supports(const Graph& graph, const std::vector<int64_t>& demand) {
  return !violated(graph, demand, Fraction(1)).has_value();
}

Bound least_partition(const Graph& graph) {
  const Graph back = reversed(graph);
  Bound best = partition_bound(graph);
  const auto consider = [&](Bound bound, bool is_entering) {
    if (bound.rate >= best.rate) return;
    best = std::move(bound);
    best.is_entering = is_entering;
  };
  consider(partition_bound(back), true);
  std::vector<int64_t> from_first(graph.num_ranks, 0);
  from_first[0] = 1;
  consider(least_cut(graph, from_first), false);
  consider(least_cut(back, from_first), true);
  return best;
}

}  // namespace tutti::plan::packing
