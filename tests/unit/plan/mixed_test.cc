#include "plan/mixed.h"

#include <gtest/gtest.h>

#include "plan/packed.h"
#include "tests/unit/plan/expect_proved.h"
#include "topo/open.h"
#include "topo/variants.h"

namespace tutti::plan {
namespace {

topo::Topology part_of(const char* machine, const char* ranks) {
  const topo::Topology whole = topo::open(machine).value();
  return topo::subset(whole, topo::parse_ranks(ranks, whole.num_ranks()).value()).value();
}

TEST(SplitFraction, MakesBothTimesEqual) {
  const Affine fast{1000, 100};
  const Affine slow{5000, 10};
  const uint64_t bytes = 10'000'000;
  const double x = split_fraction(fast, slow, bytes);
  EXPECT_GT(x, 0);
  EXPECT_LT(x, 10.0 / 110);  // less than by rates alone: the slow one starts later
  const double fast_ns = 1000 + (1 - x) * 1e7 / 100;
  const double slow_ns = 5000 + x * 1e7 / 10;
  EXPECT_NEAR(fast_ns, slow_ns, 1e-6 * fast_ns);
}

TEST(SplitFraction, LeavesNothingToALinkThatWouldEndLast) {
  EXPECT_EQ(split_fraction({1000, 100}, {5000, 10}, 100'000), 0);
  EXPECT_EQ(split_fraction({1000, 100}, {1000, 10}, 0), 0);
  EXPECT_EQ(split_fraction({9000, 1}, {0, 1000}, 1000), 1);
}

TEST(Mixed, IsProvedRightAndFasterThanFastLinksAlone) {
  // Two NVLinks of 25 GB/s join these; PCIe beside them is worth something.
  const topo::Topology topology = part_of("dgx-1v", "0,1,2,4,7");
  for (const CollectiveKind kind :
       {CollectiveKind::kBroadcast, CollectiveKind::kReduce, CollectiveKind::kAllGather,
        CollectiveKind::kReduceScatter, CollectiveKind::kAllReduce}) {
    SCOPED_TRACE(to_string(kind));
    const Collective collective{kind, topology.num_ranks(), is_rooted(kind) ? 2u : 0u};
    const MixedPlan plan = plan_mixed(collective, topology, 8, 64 << 20).value();
    expect_proved_and_right(plan.schedule);
    const PackedPlan packed = plan_packed(collective, topology, "packed", 8, 64 << 20).value();
    EXPECT_EQ(plan.fast_ns, packed.ns);
    EXPECT_LE(plan.ns, packed.ns);
    EXPECT_EQ(plan.why_alone.empty(), plan.slow_fraction > 0);
    // No faster than all links together could be.
    EXPECT_GE(plan.ns * (1 + 1e-9), (64 << 20) / plan.fast.whole_gbps);
  }
}

TEST(Mixed, ABroadcastUsesBothAndFollowsTheModel) {
  const topo::Topology topology = part_of("dgx-1v", "0,1,2,4,7");
  const Collective broadcast{CollectiveKind::kBroadcast, topology.num_ranks()};
  const MixedPlan large = plan_mixed(broadcast, topology, 32, 256 << 20).value();
  EXPECT_LT(large.ns, large.fast_ns);
  EXPECT_GT(large.slow_fraction, 0);
  EXPECT_NEAR(large.slow_fraction, large.model_fraction, 0.5 * large.model_fraction);
  const MixedPlan small = plan_mixed(broadcast, topology, 1, 256).value();
  EXPECT_EQ(small.slow_fraction, 0);
  EXPECT_FALSE(small.why_alone.empty());
}

TEST(Mixed, WhereThereIsNothingToMixItIsPackedTreesAndSaysSo) {
  for (const char* const machine : {"ring:4", "switch:4", "ndv2*2"}) {
    const topo::Topology topology = topo::open(machine).value();
    const Collective broadcast{CollectiveKind::kBroadcast, topology.num_ranks()};
    const MixedPlan plan = plan_mixed(broadcast, topology, 2, 1 << 20).value();
    EXPECT_FALSE(plan.why_alone.empty()) << machine;
    EXPECT_EQ(plan.schedule.name, "packed") << machine;
  }
}

}  // namespace
}  // namespace tutti::plan
