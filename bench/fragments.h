// The fragments of an eight GPU machine that a scheduler may hand out: subsets of three GPUs or
// more that NVLinks connect, one of each shape (Blink's 46 of a DGX-1V and 14 of a DGX-1P).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "topo/topology.h"

namespace tutti::bench {

using Matrix = std::vector<std::vector<int>>;  // NVLinks between each pair

struct Fragment {
  std::vector<Rank> ranks;  // the first subset of its shape
  Matrix links;
  uint32_t num_subsets = 0;
};

// The number of links of the least rate there is that each pair of ranks has.
inline Matrix nvlink_counts(const topo::Topology& topology) {
  double unit = 0;
  for (const topo::Link& link : topology.links) {
    if (link.link_class != topo::LinkClass::kNvlink) continue;
    if (unit == 0 || link.gbps < unit) unit = link.gbps;
  }
  const uint32_t n = topology.num_ranks();
  Matrix counts(n, std::vector<int>(n, 0));
  for (const topo::Link& link : topology.links) {
    if (link.link_class != topo::LinkClass::kNvlink) continue;
    for (uint32_t a = 0; a < n; ++a) {
      for (uint32_t b = 0; b < n; ++b) {
        if (topology.ranks[a] != link.from || topology.ranks[b] != link.to) continue;
        counts[a][b] += static_cast<int>(link.gbps / unit);
      }
    }
  }
  return counts;
}

inline bool is_connected(const Matrix& links) {
  std::vector<size_t> pending = {0};
  std::vector<bool> seen(links.size(), false);
  seen[0] = true;
  while (!pending.empty()) {
    const size_t at = pending.back();
    pending.pop_back();
    for (size_t next = 0; next < links.size(); ++next) {
      if (links[at][next] == 0 || seen[next]) continue;
      seen[next] = true;
      pending.push_back(next);
    }
  }
  return std::find(seen.begin(), seen.end(), false) == seen.end();
}

// The least of all ways to number the GPUs: equal for equal shapes.
inline std::vector<int> shape_of(const Matrix& links) {
  std::vector<size_t> order(links.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<int> least;
  do {
    std::vector<int> now;
    bool is_more = false;
    for (size_t a = 0; a < links.size() && !is_more; ++a) {
      for (size_t b = a + 1; b < links.size() && !is_more; ++b) {
        now.push_back(links[order[a]][order[b]]);
        if (least.empty() || now.back() == least[now.size() - 1]) continue;
        if (std::equal(now.begin(), now.end() - 1, least.begin())) {
          is_more = now.back() > least[now.size() - 1];
        }
      }
    }
    if (!is_more) least = std::move(now);
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

// Sorted by size, then by ranks.
inline std::vector<Fragment> fragments_of(const topo::Topology& machine) {
  const Matrix all = nvlink_counts(machine);
  std::map<std::pair<size_t, std::vector<int>>, Fragment> by_shape;
  for (uint32_t set = 0; set < 1u << machine.num_ranks(); ++set) {
    Fragment fragment;
    for (uint32_t r = 0; r < machine.num_ranks(); ++r) {
      if ((set >> r & 1) != 0) fragment.ranks.emplace_back(r);
    }
    if (fragment.ranks.size() < 3) continue;
    for (const Rank a : fragment.ranks) {
      fragment.links.emplace_back();
      for (const Rank b : fragment.ranks) fragment.links.back().push_back(all[a.value][b.value]);
    }
    if (!is_connected(fragment.links)) continue;
    const std::pair key(fragment.ranks.size(), shape_of(fragment.links));
    Fragment& known = by_shape.try_emplace(key, fragment).first->second;
    if (fragment.ranks < known.ranks) known.ranks = fragment.ranks, known.links = fragment.links;
    ++known.num_subsets;
  }
  std::vector<Fragment> fragments;
  for (auto& [key, fragment] : by_shape) fragments.push_back(std::move(fragment));
  std::sort(fragments.begin(), fragments.end(), [](const Fragment& a, const Fragment& b) {
    return std::pair(a.ranks.size(), a.ranks) < std::pair(b.ranks.size(), b.ranks);
  });
  return fragments;
}

}  // namespace tutti::bench
