// Random graphs of up to ten nodes, and the best cut and partition of each by looking at all of
// them: what exact packing is compared with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "plan/packing/bounds.h"
#include "plan/packing/graph.h"

namespace tutti::bench {

using plan::packing::Fraction;
using plan::packing::Graph;

enum class Sides : uint8_t { kDirected, kAlike };  // links as fast both ways

// A ring joins all nodes; the last `num_switches` of them are switches.
inline Graph random_digraph(uint32_t num_nodes, uint32_t num_switches, Sides sides,
                            std::mt19937& random) {
  Graph graph = plan::packing::empty_graph(num_nodes, num_switches);
  const auto add = [&](uint32_t a, uint32_t b) {
    const auto units = static_cast<int64_t>(1 + random() % 4);
    graph.capacity[a][b] += units;
    if (sides == Sides::kAlike) graph.capacity[b][a] += units;
  };
  for (uint32_t a = 0; a < num_nodes; ++a) add(a, (a + 1) % num_nodes);
  for (uint64_t more = random() % (3 * num_nodes); more > 0; --more) {
    const auto a = static_cast<uint32_t>(random() % num_nodes);
    const auto b = static_cast<uint32_t>(random() % num_nodes);
    if (a != b) add(a, b);
  }
  return graph;
}

// Over all sets that leave a rank out: what leaves, by what starts inside.
inline Fraction best_cut(const Graph& graph, const std::vector<int64_t>& demand) {
  std::optional<Fraction> least;
  const uint32_t n = graph.num_nodes();
  for (uint32_t set = 1; set < 1u << n; ++set) {
    std::vector<bool> inside(n);
    int64_t starts = 0;
    uint32_t num_ranks = 0;
    for (uint32_t v = 0; v < n; ++v) {
      inside[v] = (set >> v & 1) != 0;
      if (!inside[v] || v >= graph.num_ranks) continue;
      starts += demand[v];
      ++num_ranks;
    }
    if (starts == 0 || num_ranks == graph.num_ranks) continue;
    const Fraction ratio(plan::packing::leaving(graph, inside), starts);
    if (!least || ratio < *least) least = ratio;
  }
  return *least;
}

// Over all partitions of the nodes, none of them a switch, into k > 1 groups: the links between
// groups, by k - 1. `groups` holds the group of each node before `next`.
inline void visit_partitions(const Graph& graph, std::vector<uint32_t>& groups, uint32_t num_groups,
                             Fraction& least) {
  const auto next = static_cast<uint32_t>(groups.size());
  if (next == graph.num_nodes()) {
    if (num_groups < 2) return;
    int64_t between = 0;
    for (uint32_t a = 0; a < next; ++a) {
      for (uint32_t b = a + 1; b < next; ++b) {
        if (groups[a] != groups[b]) between += graph.capacity[a][b];
      }
    }
    least = std::min(least, Fraction(between, num_groups - 1));
    return;
  }
  for (uint32_t group = 0; group <= num_groups; ++group) {
    groups.push_back(group);
    visit_partitions(graph, groups, std::max(num_groups, group + 1), least);
    groups.pop_back();
  }
}

inline Fraction best_partition_of(const Graph& graph) {
  Fraction least(int64_t{1} << 40);
  std::vector<uint32_t> groups;
  visit_partitions(graph, groups, 0, least);
  return least;
}

}  // namespace tutti::bench
