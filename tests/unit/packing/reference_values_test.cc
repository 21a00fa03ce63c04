// Values that others published or computed with other code, and that exact packing must meet:
// ForestColl's optima (all_gather, GB/s of the gathered output), Edmonds' and Nash-Williams'
// numbers of the DGX-1, and the least depths of a DGX-1's trees, which an SMT solver proved.
#include <gtest/gtest.h>

#include <string>

#include "plan/packing/pack.h"
#include "tests/support/sanitized.h"
#include "tests/unit/packing/machine.h"
#include "topo/build.h"

namespace tutti::plan::packing {
namespace {

Packing packed(CollectiveKind kind, const topo::Topology& topology, uint32_t root = 0) {
  return pack({kind, topology.num_ranks(), root}, topology).value();
}

// Where the machine's links have other rates than in the reference.
topo::Topology with_rates(topo::Topology topology, double factor) {
  for (topo::Link& link : topology.links) link.gbps *= factor;
  return topology;
}

TEST(ReferenceValues, DgxOneBroadcastRatesAndDepths) {
  constexpr uint32_t kDepthOfV[] = {4, 4, 5, 5, 4, 4, 5, 5};
  for (uint32_t root = 0; root < 8; ++root) {
    const Packing v = packed(CollectiveKind::kBroadcast, machine("dgx-1v"), root);
    EXPECT_EQ(v.bound_gbps, 6 * 25);
    EXPECT_EQ(v.routed_gbps, 6 * 25);
    EXPECT_EQ(v.depth, kDepthOfV[root]) << "root " << root;
    const Packing p = packed(CollectiveKind::kBroadcast, machine("dgx-1p"), root);
    EXPECT_EQ(p.bound_gbps, 4 * 20);
    EXPECT_EQ(p.routed_gbps, 4 * 20);
    EXPECT_EQ(p.depth, 3u) << "root " << root;
  }
}

TEST(ReferenceValues, DgxOneAllReduceIsNashWilliams) {
  const Packing v = packed(CollectiveKind::kAllReduce, machine("dgx-1v"));
  EXPECT_DOUBLE_EQ(v.bound_gbps, 24.0 / 7 * 25);
  EXPECT_NEAR(v.routed_gbps, 24.0 / 7 * 25, 1e-9);
  const Packing p = packed(CollectiveKind::kAllReduce, machine("dgx-1p"));
  EXPECT_DOUBLE_EQ(p.bound_gbps, 16.0 / 7 * 20);
  EXPECT_NEAR(p.routed_gbps, 16.0 / 7 * 20, 1e-9);
}

struct AllGather {
  const char* name;
  double factor;  // on the rates of the machine, so that they are the reference's
  double gbps;
  uint32_t max_depth;  // of ForestColl's trees, or 1 where one hop attains the optimum
};

TEST(ReferenceValues, AllGatherOptimaOfForestColl) {
  const AllGather kReference[] = {
      {"dgx-1p", 18.0 / 20, 82.29, 3}, {"dgx-1v", 1, 171.43, 5},      {"dgx-2", 1, 160.00, 1},
      {"dgx-a100", 1, 342.86, 1},      {"mi250x", 1, 342.86, 14},     {"ndv2*2", 1, 25.00, 5},
      {"dgx-a100*2", 1, 346.67, 11},   {"dgx-h100*2", 1, 533.33, 11},
  };
  for (const AllGather& each : kReference) {
    // The plain build tries the clusters; they take a sanitizer minutes.
    if (test::kSanitized && std::string(each.name).find('*') != std::string::npos) continue;
    SCOPED_TRACE(each.name);
    const topo::Topology topology = with_rates(machine(each.name), each.factor);
    for (const CollectiveKind kind : {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter}) {
      const Packing packing = packed(kind, topology);
      EXPECT_NEAR(packing.bound_gbps, each.gbps, 0.005);
      EXPECT_NEAR(packing.routed_gbps, packing.bound_gbps, 1e-9 * packing.bound_gbps);
      EXPECT_LE(packing.depth, each.max_depth);
    }
  }
}

// Two DGX-2 as TE-CCL has them: a GPU has 125 GB/s to its crossbar, and of each pair of GPUs that
// share a NIC of 12.5 GB/s one sends to the other machine and the other receives.
TEST(ReferenceValues, AllGatherOfTwoDgx2) {
  topo::Topology topology;
  topology.name = "2 x dgx-2";
  for (int m = 0; m < 2; ++m) {
    const auto crossbar =
        topo::add_node(topology, topo::NodeKind::kSwitch, "nvswitch" + std::to_string(m));
    for (int g = 0; g < 16; ++g) {
      const auto gpu =
          topo::add_rank(topology, "m" + std::to_string(m) + "g" + std::to_string(g), 0);
      topo::connect(topology, gpu, crossbar, {topo::LinkClass::kNvlink, 125, 350});
    }
  }
  for (uint32_t pair = 0; pair < 8; ++pair) {
    for (uint32_t m = 0; m < 2; ++m) {
      topo::add_link(topology, topology.ranks[16 * m + 2 * pair + 1],
                     topology.ranks[16 * (1 - m) + 2 * pair],
                     {topo::LinkClass::kNetwork, 12.5, 2600});
    }
  }
  const Graph graph = fabric_of(topology).value().whole;
  const Bound bound = least_cut(graph, std::vector<int64_t>(32, 1));
  EXPECT_NEAR(32 * boost::rational_cast<double>(bound.rate) * graph.unit_gbps, 129.03, 0.005);
}

}  // namespace
}  // namespace tutti::plan::packing
