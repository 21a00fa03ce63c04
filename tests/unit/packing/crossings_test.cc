// What sharpens bounds where switches are in the way: crossings that no message joins, ranks that
// share what comes in, and switches whose links are cut down to what they take in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/packing/bounds.h"
#include "plan/packing/certificate.h"
#include "plan/packing/pack.h"
#include "plan/packing/split.h"
#include "tests/unit/packing/machine.h"
#include "topo/variants.h"

namespace tutti::plan::packing {
namespace {

using ::testing::HasSubstr;

// Ranks 0 and 1 on one switch, 2 and 3 on another, a link of `between` each way in the middle.
Graph two_pairs(int64_t to_switch, int64_t between) {
  Graph graph = empty_graph(6, 2);
  for (uint32_t r = 0; r < 4; ++r) {
    graph.capacity[r][4 + r / 2] = graph.capacity[4 + r / 2][r] = to_switch;
  }
  graph.capacity[4][5] = graph.capacity[5][4] = between;
  graph.nodes.assign(6, topo::NodeId{0});
  return graph;
}

TEST(Crossings, OfASwitchThatPassesNothingBetweenItsRanksAreApart) {
  Graph graph = two_pairs(3, 2);
  // Only from one pair to the other.
  for (uint32_t a : {0u, 1u}) {
    for (uint32_t b : {2u, 3u}) {
      graph.routes.push_back({a, 4, 5, b});
      graph.routes.push_back({b, 5, 4, a});
    }
  }
  const Graph apart = with_crossings_apart(graph);
  EXPECT_EQ(apart.num_ranks, 4u);
  EXPECT_EQ(apart.num_nodes(), 8u) << "each switch once for each way";
  EXPECT_EQ(apart.routes.size(), graph.routes.size());
  for (const auto& route : apart.routes) {
    for (size_t i = 1; i < route.size(); ++i) {
      EXPECT_EQ(apart.capacity[route[i - 1]][route[i]], i == 2 ? 2 : 3);
    }
  }
  // All into rank 0 comes over the middle.
  EXPECT_EQ(least_cut(graph, {0, 1, 1, 1}).rate, Fraction(1));
  EXPECT_EQ(least_cut(apart, {0, 1, 1, 1}).rate, Fraction(2, 3));
}

TEST(Crossings, OfACrossbarStayTogether) {
  Graph graph = empty_graph(4, 1);
  graph.nodes.assign(4, topo::NodeId{0});
  for (uint32_t a = 0; a < 3; ++a) {
    graph.capacity[a][3] = graph.capacity[3][a] = 5;
    for (uint32_t b = 0; b < 3; ++b) {
      if (a != b) graph.routes.push_back({a, 3, b});
    }
  }
  EXPECT_EQ(with_crossings_apart(graph).capacity, graph.capacity);
}

// Each rank alone could have all of what comes in for two.
TEST(LeastArrivals, CountsWhatRanksShare) {
  Graph graph = empty_graph(4, 1);
  graph.capacity[0][3] = 2;
  graph.capacity[3][1] = graph.capacity[3][2] = 2;
  EXPECT_EQ(least_cut(graph, {1, 0, 0}).rate, Fraction(2));
  const Bound bound = least_arrivals(graph, {1, 0, 0});
  EXPECT_EQ(bound.rate, Fraction(1));
  EXPECT_EQ(bound.crossing, 2);
  EXPECT_EQ(bound.groups.size(), 2u);
  EXPECT_TRUE(bound.is_by_arrivals);
}

TEST(LeastArrivals, IsNoLowerThanTheCutWithoutSwitches) {
  Graph graph = empty_graph(3);
  graph.capacity = {{0, 2, 1}, {1, 0, 1}, {2, 3, 0}};
  EXPECT_GE(least_arrivals(graph, {1, 1, 1}).rate, least_cut(graph, {1, 1, 1}).rate);
}

TEST(Balanced, CutsDownToWhatASwitchTakesIn) {
  Graph graph = empty_graph(4, 1);
  graph.capacity[0][3] = 2;
  graph.capacity[3][1] = graph.capacity[3][2] = 2;
  const Graph even = balanced(graph);
  EXPECT_DOUBLE_EQ(static_cast<double>(even.capacity[3][1]) * even.unit_gbps, 1);
  EXPECT_EQ(even.capacity[3][1], even.capacity[3][2]);
  EXPECT_EQ(even.capacity[0][3], 2 * even.capacity[3][1]);
}

// 16 GPUs a machine, each pair with one NIC: what enters a GPU is its NVLinks and half a NIC.
TEST(Crossings, MakeTheBoundOfTwoDgx2Sharp) {
  const topo::Topology topology = machine("dgx-2*2");
  const Collective gather{CollectiveKind::kAllGather, 32};
  const Packing bounds = bounds_for(gather, topology).value();
  EXPECT_NEAR(bounds.bound_gbps, (150 + 12.5 / 2) * 32 / 31, 1e-6);
  EXPECT_THAT(certificate(gather, topology, bounds),
              HasSubstr("31 of 32 blocks must enter each of the 32 ranks"));
  EXPECT_GT(least_ns(topology, bounds, 1 << 20), 0);
}

// Ten GPUs of each: five NICs of 12.5 GB/s carry ten of twenty blocks. More than 16 ranks, and
// still every tree that fits.
TEST(Crossings, LetTreesReachTheBoundBeyondSixteenRanks) {
  const std::vector<Rank> ranks = topo::parse_ranks("0-9,16-25", 32).value();
  const topo::Topology topology = topo::subset(machine("dgx-2*2"), ranks).value();
  const Packing packing = pack({CollectiveKind::kAllGather, 20}, topology).value();
  EXPECT_NEAR(packing.bound_gbps, 5 * 12.5 * 20 / 10, 1e-6);
  EXPECT_NEAR(packing.routed_gbps, packing.bound_gbps, 1e-6 * packing.bound_gbps);
}

}  // namespace
}  // namespace tutti::plan::packing
