// Every fragment of a DGX-1P and a DGX-1V that a scheduler can hand out: the packing is the best
// there is, for every root. Values: exact, computed with other code (linear programs, enumeration).
#include "bench/fragments.h"

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "plan/packing/pack.h"
#include "plan/packing/rings.h"
#include "topo/open.h"
#include "topo/variants.h"

namespace tutti::plan::packing {
namespace {

struct Expected {
  std::vector<uint32_t> ranks;
  uint32_t num_subsets;
  int broadcast;  // in links
  int rings;      // directed rings over all GPUs that share no link
  struct {
    int over;
    int under;
  } all_reduce;
};

const Expected kDgx1p[] = {
    {{0, 1, 2}, 8, 2, 2, {3, 2}},
    {{0, 1, 4}, 24, 1, 0, {1, 1}},
    {{0, 1, 2, 3}, 2, 3, 2, {2, 1}},
    {{0, 1, 2, 4}, 24, 1, 0, {1, 1}},
    {{0, 1, 4, 5}, 6, 2, 2, {4, 3}},
    {{0, 1, 4, 6}, 24, 1, 0, {1, 1}},
    {{0, 1, 2, 3, 4}, 8, 1, 0, {1, 1}},
    {{0, 1, 2, 4, 5}, 24, 2, 2, {3, 2}},
    {{0, 1, 2, 4, 7}, 24, 1, 0, {1, 1}},
    {{0, 1, 2, 3, 4, 5}, 12, 2, 2, {3, 2}},
    {{0, 1, 2, 4, 5, 6}, 4, 3, 2, {9, 5}},
    {{0, 1, 2, 4, 5, 7}, 12, 2, 2, {8, 5}},
    {{0, 1, 2, 3, 4, 5, 6}, 8, 3, 2, {2, 1}},
    {{0, 1, 2, 3, 4, 5, 6, 7}, 1, 4, 4, {16, 7}},
};

const Expected kDgx1v[] = {
    {{0, 1, 2}, 4, 2, 2, {2, 1}},
    {{0, 1, 4}, 16, 1, 0, {1, 1}},
    {{0, 2, 3}, 4, 3, 2, {5, 2}},
    {{0, 2, 6}, 4, 1, 0, {1, 1}},
    {{0, 3, 4}, 4, 2, 0, {2, 1}},
    {{0, 1, 2, 3}, 2, 4, 4, {3, 1}},
    {{0, 1, 2, 4}, 4, 2, 0, {2, 1}},
    {{0, 1, 2, 5}, 4, 2, 0, {2, 1}},
    {{0, 1, 2, 6}, 4, 1, 0, {1, 1}},
    {{0, 1, 4, 5}, 2, 2, 2, {2, 1}},
    {{0, 1, 4, 6}, 4, 1, 0, {1, 1}},
    {{0, 1, 4, 7}, 8, 1, 0, {1, 1}},
    {{0, 2, 3, 4}, 4, 2, 0, {2, 1}},
    {{0, 2, 3, 6}, 4, 1, 0, {1, 1}},
    {{0, 2, 3, 7}, 4, 1, 0, {1, 1}},
    {{0, 2, 4, 6}, 2, 2, 2, {3, 2}},
    {{0, 2, 5, 6}, 8, 1, 0, {1, 1}},
    {{0, 3, 4, 7}, 2, 3, 2, {7, 3}},
    {{0, 3, 6, 7}, 4, 1, 0, {1, 1}},
    {{0, 1, 2, 3, 4}, 4, 2, 0, {2, 1}},
    {{0, 1, 2, 3, 6}, 4, 1, 0, {1, 1}},
    {{0, 1, 2, 4, 5}, 4, 3, 2, {9, 4}},
    {{0, 1, 2, 4, 6}, 4, 2, 2, {2, 1}},
    {{0, 1, 2, 4, 7}, 4, 2, 0, {2, 1}},
    {{0, 1, 2, 5, 6}, 4, 2, 2, {2, 1}},
    {{0, 1, 2, 5, 7}, 4, 1, 0, {1, 1}},
    {{0, 1, 2, 6, 7}, 4, 1, 0, {1, 1}},
    {{0, 1, 4, 6, 7}, 4, 1, 0, {1, 1}},
    {{0, 2, 3, 4, 6}, 4, 2, 2, {2, 1}},
    {{0, 2, 3, 4, 7}, 4, 3, 2, {5, 2}},
    {{0, 2, 3, 5, 6}, 4, 1, 0, {1, 1}},
    {{0, 2, 3, 5, 7}, 4, 1, 0, {1, 1}},
    {{0, 2, 3, 6, 7}, 4, 2, 2, {2, 1}},
    {{0, 1, 2, 3, 4, 5}, 2, 3, 2, {5, 2}},
    {{0, 1, 2, 3, 4, 6}, 4, 2, 2, {2, 1}},
    {{0, 1, 2, 3, 4, 7}, 4, 3, 2, {5, 2}},
    {{0, 1, 2, 3, 6, 7}, 2, 2, 2, {2, 1}},
    {{0, 1, 2, 4, 5, 6}, 2, 4, 4, {13, 5}},
    {{0, 1, 2, 4, 5, 7}, 2, 3, 2, {12, 5}},
    {{0, 1, 2, 4, 6, 7}, 4, 3, 2, {7, 3}},
    {{0, 1, 2, 5, 6, 7}, 4, 2, 2, {2, 1}},
    {{0, 2, 3, 4, 6, 7}, 2, 4, 4, {14, 5}},
    {{0, 2, 3, 5, 6, 7}, 2, 2, 2, {2, 1}},
    {{0, 1, 2, 3, 4, 5, 6}, 4, 4, 4, {3, 1}},
    {{0, 1, 2, 3, 4, 6, 7}, 4, 4, 4, {3, 1}},
    {{0, 1, 2, 3, 4, 5, 6, 7}, 1, 6, 6, {24, 7}},
};

double broadcast_gbps(const topo::Topology& topology, uint32_t root, double& bound) {
  const Packing packing =
      pack({CollectiveKind::kBroadcast, topology.num_ranks(), root}, topology).value();
  bound = packing.bound_gbps;
  return packing.routed_gbps;
}

void expect_optimal(const topo::Topology& machine, double link_gbps,
                    std::span<const Expected> table) {
  const std::vector<bench::Fragment> fragments = bench::fragments_of(machine);
  ASSERT_EQ(fragments.size(), table.size());
  for (size_t i = 0; i < table.size(); ++i) {
    std::vector<Rank> ranks;
    for (const uint32_t r : table[i].ranks) ranks.emplace_back(r);
    EXPECT_EQ(fragments[i].ranks, ranks);
    EXPECT_EQ(fragments[i].num_subsets, table[i].num_subsets);
    const topo::Topology topology = topo::subset(machine, ranks).value();
    for (uint32_t root = 0; root < topology.num_ranks(); ++root) {
      double bound = 0;
      EXPECT_DOUBLE_EQ(broadcast_gbps(topology, root, bound), table[i].broadcast * link_gbps) << i;
      EXPECT_DOUBLE_EQ(bound, table[i].broadcast * link_gbps) << i;
    }
    const Packing both = pack({CollectiveKind::kAllReduce, topology.num_ranks()}, topology).value();
    const double best = table[i].all_reduce.over * link_gbps / table[i].all_reduce.under;
    EXPECT_DOUBLE_EQ(both.bound_gbps, best) << i;
    EXPECT_NEAR(both.routed_gbps, best, 1e-9 * best) << i;
    const Rings shared = find_rings(topology, both.fabric).value();
    const Rings rings = find_rings(topology, both.fabric, LinkSharing::kWholeLinks).value();
    EXPECT_EQ(rings.on_fabric, table[i].rings > 0) << i;
    EXPECT_GE(shared.gbps, rings.gbps * (1 - 1e-6)) << i;
    EXPECT_NEAR(rings.on_fabric ? rings.gbps : 0, table[i].rings * link_gbps, 1e-6) << i;
  }
}

TEST(Fragments, OfADgx1pAreServedAsFastAsCanBe) {
  expect_optimal(topo::open("dgx-1p").value(), 20, kDgx1p);
}

TEST(Fragments, OfADgx1vAreServedAsFastAsCanBe) {
  expect_optimal(topo::open("dgx-1v").value(), 25, kDgx1v);
}

}  // namespace
}  // namespace tutti::plan::packing
