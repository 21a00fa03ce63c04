#include "plan/packing/blink.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/packing/random_graphs.h"

namespace tutti::plan::packing {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

// Every choice of a link into each node but the root, that is a tree.
double brute_force_length(const std::vector<std::vector<double>>& length, uint32_t root) {
  const auto n = static_cast<uint32_t>(length.size());
  std::vector<uint32_t> parent(n, 0);
  double least = kNone;
  const auto visit = [&](auto& self, uint32_t v, double sum) -> void {
    if (v == root) return self(self, v + 1, sum);
    if (v < n) {
      for (uint32_t u = 0; u < n; ++u) {
        parent[v] = u;
        if (u != v && length[u][v] != kNone) self(self, v + 1, sum + length[u][v]);
      }
      return;
    }
    for (uint32_t r = 0; r < n; ++r) {
      uint32_t at = r;
      for (uint32_t hops = 0; hops < n && at != root; ++hops) at = parent[at];
      if (at != root) return;
    }
    least = std::min(least, sum);
  };
  visit(visit, 0, 0);
  return least;
}

TEST(MinArborescence, IsTheShortestOfAll) {
  for (uint32_t seed = 0; seed < num_trials(200); ++seed) {
    std::mt19937 random(seed);
    const uint32_t n = 2 + seed % 5;
    std::vector<std::vector<double>> length(n, std::vector<double>(n, kNone));
    const Graph graph = random_graph(n, seed);
    for (uint32_t u = 0; u < n; ++u) {
      for (uint32_t v = 0; v < n; ++v) {
        if (graph.capacity[u][v] > 0) length[u][v] = 1 + static_cast<int>(random() % 20);
      }
    }
    EXPECT_DOUBLE_EQ(min_arborescence(length, seed % n).length,
                     brute_force_length(length, seed % n))
        << "seed " << seed;
  }
}

// Never more than the exact packing, and by the theory not less than 1 - 3 eps = 0.7 of it; weights
// in 1/64 cost a little more.
TEST(Blink, ComesNearTheExactPacking) {
  for (uint32_t seed = 0; seed < num_trials(40); ++seed) {
    const uint32_t n = 2 + seed % 7;
    const Graph graph = random_graph(n, seed);
    std::vector<int64_t> demand(n, 0);
    demand[0] = 1;
    const double best = boost::rational_cast<double>(least_cut(graph, demand).rate);
    double gbps = 0;
    const std::vector<Tree> trees = blink_trees(graph, 0, gbps);
    EXPECT_LE(gbps, best * (1 + 1e-9));
    EXPECT_GE(gbps, 0.6 * best) << "seed " << seed;
    const bool whole = trees.front().weight == 1;
    if (whole) expect_fits(graph, trees, false);
  }
}

}  // namespace
}  // namespace tutti::plan::packing
