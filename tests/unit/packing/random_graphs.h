// Random graphs, and what the tests of packing ask of bounds and trees, by brute force.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "bench/random_digraphs.h"
#include "plan/packing/bounds.h"
#include "plan/packing/graph.h"
#include "plan/packing/trees.h"
#include "tests/support/sanitized.h"

namespace tutti::plan::packing {

using bench::best_cut;
using bench::best_partition_of;

inline uint32_t num_trials(uint32_t plain) { return test::kSanitized ? plain / 10 + 1 : plain; }

// Every rank can reach every other: a ring through all of them is part of it.
inline Graph random_graph(uint32_t num_ranks, uint32_t seed, bool symmetric = false) {
  std::mt19937 engine(seed);
  const auto random = [&] { return static_cast<uint32_t>(engine()); };
  Graph graph = empty_graph(num_ranks);
  const auto add = [&](uint32_t a, uint32_t b, int64_t units) {
    graph.capacity[a][b] += units;
    if (symmetric) graph.capacity[b][a] += units;
  };
  for (uint32_t r = 0; num_ranks > 1 && r < num_ranks; ++r) {
    add(r, (r + 1) % num_ranks, 1 + random() % 2);
  }
  const uint32_t num_more = random() % (2 * num_ranks);
  for (uint32_t i = 0; i < num_more; ++i) {
    const uint32_t a = random() % num_ranks;
    const uint32_t b = random() % num_ranks;
    if (a != b) add(a, b, 1 + random() % 4);
  }
  return graph;
}

// Ranks and switches, links as fast both ways: every switch takes in what it gives out.
inline Graph random_switched_graph(uint32_t num_ranks, uint32_t num_switches, uint32_t seed) {
  Graph graph = random_graph(num_ranks + num_switches, seed, true);
  graph.num_ranks = num_ranks;
  return graph;
}

// Each is a spanning tree of its root, and no link carries more than it can.
inline void expect_fits(const Graph& graph, const std::vector<Tree>& trees, bool undirected) {
  auto left = graph.capacity;
  for (const Tree& tree : trees) {
    ASSERT_EQ(tree.parent.size(), graph.num_ranks);
    EXPECT_GT(tree.weight, 0);
    for (uint32_t r = 0; r < graph.num_ranks; ++r) {
      uint32_t at = r;
      for (uint32_t hops = 0; hops < graph.num_ranks && at != tree.root; ++hops) {
        ASSERT_NE(tree.parent[at], kNoParent) << "rank " << at << " hangs in the air";
        at = tree.parent[at];
      }
      ASSERT_EQ(at, tree.root) << "a circle";
      if (r == tree.root) continue;
      left[tree.parent[r]][r] -= tree.weight;
      EXPECT_GE(left[tree.parent[r]][r], 0) << tree.parent[r] << "->" << r;
      if (!undirected) continue;
      left[r][tree.parent[r]] -= tree.weight;
      EXPECT_GE(left[r][tree.parent[r]], 0) << r << "->" << tree.parent[r];
    }
    EXPECT_EQ(tree.parent[tree.root], kNoParent);
  }
}

inline std::vector<int64_t> weights_by_root(const Graph& graph, const std::vector<Tree>& trees) {
  std::vector<int64_t> sums(graph.num_ranks, 0);
  for (const Tree& tree : trees) sums[tree.root] += tree.weight;
  return sums;
}

}  // namespace tutti::plan::packing
