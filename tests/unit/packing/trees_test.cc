// Packings by both ways, and that making them shallow changes nothing but depth.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "plan/packing/arborescences.h"
#include "plan/packing/shallow.h"
#include "plan/packing/spanning_trees.h"
#include "plan/packing/split.h"
#include "tests/unit/packing/random_graphs.h"

namespace tutti::plan::packing {
namespace {

using ::testing::Each;
using ::testing::SizeIs;

TEST(Arborescences, AreAsManyAsTheLeastCutOfARoot) {
  for (uint32_t seed = 0; seed < num_trials(400); ++seed) {
    const uint32_t n = 2 + seed % 7;
    const Graph graph = random_graph(n, seed);
    std::vector<int64_t> demand(n, 0);
    demand[seed % n] = 1;
    const Fraction rate = best_cut(graph, demand);
    ASSERT_EQ(rate.denominator(), 1);
    demand[seed % n] = rate.numerator();
    const std::vector<Tree> trees = pack_arborescences(graph, demand);
    expect_fits(graph, trees, false);
    EXPECT_EQ(weights_by_root(graph, trees), demand) << "seed " << seed;
  }
}

TEST(Arborescences, OfAllRootsAreAsManyAsTheLeastCut) {
  for (uint32_t seed = 0; seed < num_trials(200); ++seed) {
    const uint32_t n = 2 + seed % 6;
    std::vector<int64_t> demand(n, 1);
    Graph graph = random_graph(n, seed);
    const Fraction rate = best_cut(graph, demand);
    graph = scaled(graph, rate.denominator(), 1);
    std::fill(demand.begin(), demand.end(), rate.numerator());
    const std::vector<Tree> trees = pack_arborescences(graph, demand);
    expect_fits(graph, trees, false);
    EXPECT_EQ(weights_by_root(graph, trees), demand) << "seed " << seed;
  }
}

TEST(WithoutSwitches, KeepsWhatFits) {
  for (uint32_t seed = 0; seed < num_trials(150); ++seed) {
    const uint32_t n = 2 + seed % 5;
    std::vector<int64_t> demand(n, 1);
    Graph graph = random_switched_graph(n, 1 + seed % 3, seed);
    const Fraction rate = least_cut(graph, demand).rate;
    graph = scaled(graph, rate.denominator(), 1);
    std::fill(demand.begin(), demand.end(), rate.numerator());
    const Graph split = without_switches(graph, demand);
    EXPECT_EQ(split.num_nodes(), n);
    EXPECT_TRUE(supports(split, demand)) << "seed " << seed;
    expect_fits(split, pack_arborescences(split, demand), false);
  }
}

TEST(WithoutSwitches, MakesACrossbarALinkBetweenEveryPair) {
  Graph graph = empty_graph(6, 1);
  for (uint32_t r = 0; r < 5; ++r) graph.capacity[r][5] = graph.capacity[5][r] = 8;
  const Graph split = without_switches(graph, std::vector<int64_t>(5, 2));
  for (uint32_t a = 0; a < 5; ++a) {
    for (uint32_t b = 0; b < 5; ++b) EXPECT_EQ(split.capacity[a][b], a == b ? 0 : 2);
  }
}

TEST(SpanningTrees, AreAsManyAsTheBestPartition) {
  for (uint32_t seed = 0; seed < num_trials(300); ++seed) {
    const Graph graph = random_graph(2 + seed % 7, seed, true);
    const Fraction rate = best_partition_of(graph);
    const int64_t whole = boost::rational_cast<int64_t>(rate);
    const std::vector<Tree> trees = pack_spanning_trees(graph, whole);
    EXPECT_EQ(static_cast<int64_t>(trees.size()), whole) << "seed " << seed;
    EXPECT_LE(static_cast<int64_t>(pack_spanning_trees(graph, whole + 1).size()), whole);
    expect_fits(graph, trees, true);
    const Graph finer = scaled(graph, rate.denominator(), 1);
    EXPECT_THAT(pack_spanning_trees(finer, rate.numerator()), SizeIs(rate.numerator()));
  }
}

TEST(MadeShallow, KeepsRootsWeightsAndLinks) {
  for (uint32_t seed = 0; seed < num_trials(20); ++seed) {
    const uint32_t n = 3 + seed % 6;
    std::vector<int64_t> demand(n, 1);
    Graph graph = random_graph(n, seed, true);
    const Fraction rate = least_cut(graph, demand).rate;
    graph = scaled(graph, rate.denominator(), 1);
    std::fill(demand.begin(), demand.end(), rate.numerator());
    const std::vector<Tree> before = unmerged(pack_arborescences(graph, demand));
    const std::vector<Tree> after = made_shallow(graph, before);
    expect_fits(graph, after, false);
    EXPECT_EQ(weights_by_root(graph, after), demand);
    EXPECT_LE(max_depth(after), max_depth(before));
  }
}

TEST(MadeShallowUndirected, KeepsTreesWholeAlsoWhereTheyShareLinks) {
  for (uint32_t seed = 0; seed < num_trials(60); ++seed) {
    const Graph graph = random_graph(3 + seed % 6, seed, true);
    const auto count = boost::rational_cast<int64_t>(least_partition(graph).rate);
    const std::vector<Tree> before = pack_spanning_trees(graph, count);
    const std::vector<Tree> after = made_shallow_undirected(graph, before);
    expect_fits(graph, after, true);
    EXPECT_EQ(after.size(), before.size());
    EXPECT_LE(max_depth(after), max_depth(before)) << "seed " << seed;
  }
}

TEST(Trees, AreHungFromTheirMiddle) {
  const Tree chain{0, {kNoParent, 0, 1, 2, 3}, 1};
  EXPECT_EQ(depth(chain), 4u);
  const Tree middle = centred(chain);
  EXPECT_EQ(middle.root, 2u);
  EXPECT_EQ(depth(middle), 2u);
}

TEST(Trees, MergeAndComeApart) {
  const Tree one{0, {kNoParent, 0, 1}, 1};
  const Tree other{0, {kNoParent, 0, 0}, 2};
  const std::vector<Tree> merge = merged({one, other, one});
  ASSERT_THAT(merge, SizeIs(2));
  EXPECT_EQ(merge[0].weight + merge[1].weight, 4);
  EXPECT_THAT(unmerged(merge), SizeIs(4));
  EXPECT_THAT(unmerged(merge), Each(::testing::Field(&Tree::weight, 1)));
}

}  // namespace
}  // namespace tutti::plan::packing
