// Values that others published or computed, and that exact packing must meet.
#include <gtest/gtest.h>

#include <string>

#include "plan/packing/pack.h"
#include "topo/open.h"

namespace tutti::plan::packing {
namespace {

topo::Topology machine(const std::string& name) { return topo::open(name).value(); }

Packing packed(CollectiveKind kind, const topo::Topology& topology, uint32_t root = 0) {
  return pack({kind, topology.num_ranks(), root}, topology).value();
}

TEST(ReferenceValues, DgxOneBroadcast) {
  for (uint32_t root = 0; root < 8; ++root) {
    const auto v = packed(CollectiveKind::kBroadcast, machine("dgx-1v"), root);
    EXPECT_EQ(v.bound_gbps, 150);
    EXPECT_EQ(v.trees_gbps, 150);
    EXPECT_EQ(v.routed_gbps, 150);
    printf("dgx-1v root %u depth %u trees %zu\n", root, v.depth, v.trees.size());
    const auto p = packed(CollectiveKind::kBroadcast, machine("dgx-1p"), root);
    EXPECT_EQ(p.bound_gbps, 80);
    EXPECT_EQ(p.trees_gbps, 80);
    printf("dgx-1p root %u depth %u trees %zu\n", root, p.depth, p.trees.size());
  }
}

TEST(ReferenceValues, Others) {
  for (const char* name :
       {"dgx-1v", "dgx-1p", "dgx-2", "dgx-a100", "mi250x", "ndv2*2", "dgx-a100*2"}) {
    for (auto kind : {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                      CollectiveKind::kAllReduce, CollectiveKind::kReduce}) {
      const auto t = machine(name);
      const auto r = pack({kind, t.num_ranks(), 0}, t);
      if (!r) {
        printf("%s: %s\n", name, r.error().message.c_str());
        continue;
      }
      printf("%s %s bound %.2f whole %.2f trees %.2f routed %.2f depth %u n %zu\n", name,
             std::string(to_string(kind)).c_str(), r->bound_gbps, r->whole_gbps, r->trees_gbps,
             r->routed_gbps, r->depth, r->trees.size());
      fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace tutti::plan::packing
