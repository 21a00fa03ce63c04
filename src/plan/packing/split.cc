// A switch w goes when each way u -> w -> t through it has been given a share of (u, w) and (w, t).
// Shares in proportion to the links spread every sender over all receivers, which is what makes
// shallow trees: all of a crossbar becomes a link between every pair. So that is tried first, for
// the whole switch at once, and kept if all trees still fit: N flows tell. At first only ways that
// messages really take (Graph::routes), then all.
//
// Where that fails, pair by pair as much is split off as fits. Of the sets Z that trees must enter
// only two kinds lose links: those with w but neither u nor t, and those with u and t but not w.
// What these have to spare, two minimum cuts for each rank in Z, is what can be split off.
#include "plan/packing/split.h"

#include <algorithm>
#include <numeric>

#include "plan/packing/bounds.h"
#include "plan/packing/flow.h"

namespace tutti::plan::packing {
namespace {

using Pairs = std::vector<std::vector<bool>>;  // [from][to]

class Splitter {
 public:
  Splitter(const Graph& graph, const std::vector<int64_t>& demand, Ways ways)
      : graph_(graph),
        demand_(demand),
        ways_(ways),
        total_(std::accumulate(demand.begin(), demand.end(), int64_t{0})) {}

  Graph run() && {
    for (uint32_t w = graph_.num_ranks; w < graph_.num_nodes(); ++w) remove(w);
    Graph result = graph_;
    result.capacity.resize(graph_.num_ranks);
    for (auto& row : result.capacity) row.resize(graph_.num_ranks);
    if (!result.nodes.empty()) result.nodes.resize(graph_.num_ranks);
    return result;
  }

 private:
  void remove(uint32_t w) {
    const Pairs on_routes = ways_through(w);
    if (ways_ == Ways::kEvenly) {
      split_evenly(w, on_routes);
      split_rest(w, on_routes);
      drop(w);
      return;
    }
    if (try_in_proportion(w, on_routes)) return;
    if (ways_ == Ways::kAny && try_in_proportion(w, all_pairs())) return;
    split_pair_by_pair(w, on_routes);
    if (ways_ == Ways::kAny) split_pair_by_pair(w, all_pairs());
    drop(w);
  }

  void drop(uint32_t w) {
    for (uint32_t n = 0; n < graph_.num_nodes(); ++n) {
      graph_.capacity[n][w] = 0;
      graph_.capacity[w][n] = 0;
    }
    for (auto& route : graph_.routes) std::erase(route, w);
  }

  Pairs all_pairs() const {
    return Pairs(graph_.num_nodes(), std::vector<bool>(graph_.num_nodes(), true));
  }

  Pairs ways_through(uint32_t w) const {
    if (graph_.routes.empty()) return all_pairs();
    Pairs pairs(graph_.num_nodes(), std::vector<bool>(graph_.num_nodes(), false));
    for (const auto& route : graph_.routes) {
      for (size_t i = 1; i + 1 < route.size(); ++i) {
        if (route[i] == w) pairs[route[i - 1]][route[i + 1]] = true;
      }
    }
    return pairs;
  }

  void split(uint32_t u, uint32_t w, uint32_t t, int64_t amount) {
    graph_.capacity[u][w] -= amount;
    graph_.capacity[w][t] -= amount;
    if (u != t) graph_.capacity[u][t] += amount;
  }

  bool try_in_proportion(uint32_t w, const Pairs& pairs) {
    const auto before = graph_.capacity;
    split_evenly(w, pairs);
    split_rest(w, pairs);
    const auto routes = graph_.routes;
    drop(w);
    if (supports(graph_, demand_)) return true;
    graph_.capacity = before;
    graph_.routes = routes;
    return false;
  }

  void split_evenly(uint32_t w, const Pairs& pairs) {
    const uint32_t n = graph_.num_nodes();
    const auto capacity = graph_.capacity;
    std::vector<int64_t> out_of(n, 0);  // for each u: what its ways lead to
    std::vector<int64_t> into(n, 0);
    for (uint32_t u = 0; u < n; ++u) {
      for (uint32_t t = 0; t < n; ++t) {
        if (u == t || !pairs[u][t] || capacity[u][w] == 0 || capacity[w][t] == 0) continue;
        out_of[u] += capacity[w][t];
        into[t] += capacity[u][w];
      }
    }
    for (uint32_t u = 0; u < n; ++u) {
      for (uint32_t t = 0; t < n; ++t) {
        if (u == t || !pairs[u][t] || capacity[u][w] == 0 || capacity[w][t] == 0) continue;
        const __int128 product = static_cast<__int128>(capacity[u][w]) * capacity[w][t];
        split(u, w, t, static_cast<int64_t>(product / std::max(out_of[u], into[t])));
      }
    }
  }

  // What rounding left over, by a flow from the links in to the links out.
  void split_rest(uint32_t w, const Pairs& pairs) {
    const uint32_t n = graph_.num_nodes();
    Flow flow(2 * n + 2);
    struct Way {
      uint32_t from;
      uint32_t to;
      uint32_t arc;
    };
    std::vector<Way> ways;
    for (uint32_t u = 0; u < n; ++u) {
      flow.add(2 * n, u, graph_.capacity[u][w]);
      flow.add(n + u, 2 * n + 1, graph_.capacity[w][u]);
      for (uint32_t t = 0; t < n; ++t) {
        if (u != t && pairs[u][t]) ways.push_back({u, t, flow.add(u, n + t, kUnlimited)});
      }
    }
    flow.run(2 * n, 2 * n + 1);
    for (const Way& way : ways) split(way.from, w, way.to, flow.on(way.arc));
  }

  void split_pair_by_pair(uint32_t w, const Pairs& pairs) {
    for (uint32_t u = 0; u < graph_.num_nodes(); ++u) {
      for (uint32_t t = 0; t < graph_.num_nodes(); ++t) {
        if (!pairs[u][t] || graph_.capacity[u][w] == 0 || graph_.capacity[w][t] == 0) continue;
        split(u, w, t, spare(u, w, t));
      }
    }
  }

  // The least that sets with all of `in` and none of `out` have beyond the trees that must enter.
  int64_t slack(const std::vector<uint32_t>& out, const std::vector<uint32_t>& in) const {
    const uint32_t source = graph_.num_nodes();
    const uint32_t sink = source + 1;
    Flow flow(sink + 1);
    flow.add_all(graph_.capacity);
    for (uint32_t r = 0; r < graph_.num_ranks; ++r) {
      if (demand_[r] > 0) flow.add(source, r, demand_[r]);
    }
    for (const uint32_t n : out) flow.add(source, n, kUnlimited);
    for (const uint32_t n : in) flow.add(n, sink, kUnlimited);
    return flow.run(source, sink) - total_;
  }

  int64_t spare(uint32_t u, uint32_t w, uint32_t t) const {
    int64_t least = std::min(graph_.capacity[u][w], graph_.capacity[w][t]);
    for (uint32_t v = 0; v < graph_.num_ranks && least > 0; ++v) {
      if (v != u && v != t) least = std::min(least, slack({u, t}, {w, v}));
    }
    const bool has_rank = u < graph_.num_ranks || t < graph_.num_ranks;
    if (has_rank && least > 0 && u != t) least = std::min(least, slack({w}, {u, t}));
    for (uint32_t v = 0; v < graph_.num_ranks && !(has_rank && u != t) && least > 0; ++v) {
      least = std::min(least, slack({w}, {u, t, v}));
    }
    return std::max<int64_t>(least, 0);
  }

  Graph graph_;
  const std::vector<int64_t>& demand_;
  Ways ways_;
  int64_t total_;
};

// Divides without remainder by what fans of up to 16 links need.
constexpr int64_t kFinePart = 720'720;
// Where rates have little in common, units are fine already, and sums must stay below 2^62.
constexpr int64_t kCoarseUnits = 10'000;

int64_t most_units(const Graph& graph) {
  int64_t most = 0;
  for (const auto& row : graph.capacity)
    most = std::max(most, *std::max_element(row.begin(), row.end()));
  return most;
}
// A chain of switches passes on what the last of them can take.
constexpr int kBalanceRounds = 64;

// Whether something was cut down.
bool balance(Graph& graph, uint32_t w) {
  int64_t in = 0;
  int64_t out = 0;
  for (uint32_t n = 0; n < graph.num_nodes(); ++n) {
    in += graph.capacity[n][w];
    out += graph.capacity[w][n];
  }
  if (in == out) return false;
  const auto cut_down = [&](int64_t& units) {
    const __int128 part = static_cast<__int128>(units) * std::min(in, out) / std::max(in, out);
    units = static_cast<int64_t>(part);
  };
  for (uint32_t n = 0; n < graph.num_nodes(); ++n) {
    cut_down(in > out ? graph.capacity[n][w] : graph.capacity[w][n]);
  }
  return true;
}

}  // namespace

Graph balanced(const Graph& graph) {
  Graph result = scaled(graph, most_units(graph) <= kCoarseUnits ? kFinePart : 1, 1);
  bool is_changed = true;
  for (int round = 0; round < kBalanceRounds && is_changed; ++round) {
    is_changed = false;
    for (uint32_t w = graph.num_ranks; w < graph.num_nodes(); ++w) {
      is_changed = balance(result, w) || is_changed;
    }
  }
  return result;
}

Graph without_switches(const Graph& graph, const std::vector<int64_t>& demand, Ways ways) {
  return Splitter(graph, demand, ways).run();
}

}  // namespace tutti::plan::packing
