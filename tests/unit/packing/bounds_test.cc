#include "plan/packing/bounds.h"

#include <gmock/gmock.h>

#include "tests/unit/packing/random_graphs.h"

namespace tutti::plan::packing {
namespace {

std::vector<int64_t> from(uint32_t root, uint32_t num_ranks) {
  std::vector<int64_t> demand(num_ranks, 0);
  demand[root] = 1;
  return demand;
}

void expect_proves(const Graph& graph, const Bound& bound, const std::vector<int64_t>& demand) {
  ASSERT_EQ(bound.groups.size(), 1u);
  std::vector<bool> inside(graph.num_nodes(), false);
  int64_t starting = 0;
  for (const uint32_t n : bound.groups.front()) {
    inside[n] = true;
    if (n < graph.num_ranks) starting += demand[n];
  }
  EXPECT_EQ(bound.crossing, leaving(graph, inside));
  EXPECT_EQ(bound.rate, Fraction(bound.crossing, starting));
}

TEST(LeastCut, OfOneRootIsTheBestCutOfAll) {
  for (uint32_t seed = 0; seed < num_trials(400); ++seed) {
    const uint32_t n = 2 + seed % 7;
    const Graph graph = random_graph(n, seed);
    const std::vector<int64_t> demand = from(seed % n, n);
    const Bound bound = least_cut(graph, demand);
    EXPECT_EQ(bound.rate, best_cut(graph, demand)) << "seed " << seed;
    expect_proves(graph, bound, demand);
  }
}

TEST(LeastCut, OfAllRootsIsTheBestCutOfAllWithSwitchesToo) {
  for (uint32_t seed = 0; seed < num_trials(400); ++seed) {
    const uint32_t n = 2 + seed % 6;
    const Graph graph = random_switched_graph(n, seed % 3, seed);
    const std::vector<int64_t> demand(n, 1);
    const Bound bound = least_cut(graph, demand);
    EXPECT_EQ(bound.rate, best_cut(graph, demand)) << "seed " << seed;
    expect_proves(graph, bound, demand);
    std::vector<int64_t> just(n, 0);
    std::fill(just.begin(), just.end(), bound.rate.numerator());
    EXPECT_TRUE(supports(scaled(graph, bound.rate.denominator(), 1), just));
    for (int64_t& each : just) ++each;
    EXPECT_FALSE(supports(scaled(graph, bound.rate.denominator(), 1), just));
  }
}

TEST(LeastCut, IsZeroAcrossAGap) {
  Graph graph = empty_graph(3);
  graph.capacity[0][1] = graph.capacity[1][0] = 4;
  EXPECT_EQ(least_cut(graph, from(0, 3)).rate, Fraction(0));
}

TEST(LeastPartition, IsTheBestPartitionOfAll) {
  for (uint32_t seed = 0; seed < num_trials(300); ++seed) {
    const Graph graph = random_graph(2 + seed % 7, seed, true);
    const Bound bound = least_partition(graph);
    EXPECT_EQ(bound.rate, best_partition_of(graph)) << "seed " << seed;
  }
}

// Two groups of ranks that a thin link joins; inside, links are wide.
TEST(LeastPartition, NamesTheGroups) {
  Graph graph = empty_graph(4);
  graph.capacity[0][1] = graph.capacity[1][0] = 10;
  graph.capacity[2][3] = graph.capacity[3][2] = 10;
  graph.capacity[1][2] = graph.capacity[2][1] = 3;
  const Bound bound = least_partition(graph);
  EXPECT_EQ(bound.rate, Fraction(3));
  EXPECT_THAT(bound.groups,
              ::testing::ElementsAre(::testing::ElementsAre(0, 1), ::testing::ElementsAre(2, 3)));
}

// Behind a crossbar each of n ranks takes and gives B: 2(n-1) copies over n B.
TEST(LeastPartition, SeesThroughASwitch) {
  Graph graph = empty_graph(5, 1);
  for (uint32_t r = 0; r < 4; ++r) graph.capacity[r][4] = graph.capacity[4][r] = 6;
  EXPECT_EQ(least_partition(graph).rate, Fraction(4 * 6, 2 * 3));
}

// One direction of the only link between two ranks is slow: every byte must cross it.
TEST(LeastPartition, IsNoMoreThanTheSlowerDirectionOfACut) {
  Graph graph = empty_graph(2);
  graph.capacity[0][1] = 10;
  graph.capacity[1][0] = 2;
  EXPECT_EQ(least_partition(graph).rate, Fraction(2));
}

}  // namespace
}  // namespace tutti::plan::packing
