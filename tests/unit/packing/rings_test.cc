// Rings along links: they pass every rank once, share links fairly, and are right as schedules. How
// many there are on every fragment of a DGX-1 is in fragments_test.cc.
#include "plan/packing/rings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "plan/packed.h"
#include "plan/packing/pack.h"
#include "tests/unit/packing/machine.h"
#include "tests/unit/plan/expect_proved.h"
#include "topo/build.h"
#include "topo/variants.h"

namespace tutti::plan::packing {
namespace {

using ::testing::HasSubstr;

constexpr CollectiveKind kOnRings[] = {CollectiveKind::kBroadcast, CollectiveKind::kReduce,
                                       CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                                       CollectiveKind::kAllReduce};

Rings rings_of(const topo::Topology& topology) {
  return find_rings(topology, fabric_of(topology).value()).value();
}

TEST(Rings, PassEveryRankOnce) {
  for (const char* name : {"dgx-1v", "dgx-2", "mi250x", "ndv2*2", "dgx-a100*3", "torus:4x4"}) {
    SCOPED_TRACE(name);
    const topo::Topology topology = machine(name);
    const Rings found = rings_of(topology);
    ASSERT_FALSE(found.rings.empty());
    for (Ring ring : found.rings) {
      std::sort(ring.begin(), ring.end());
      ASSERT_EQ(ring.size(), topology.num_ranks());
      for (uint32_t r = 0; r < topology.num_ranks(); ++r) EXPECT_EQ(ring[r], r);
    }
  }
}

// Whatever the search believes, the rate that is told is what the routes carry.
TEST(Rings, CarryWhatTheyAreSaidTo) {
  for (const char* name : {"dgx-1v", "ndv2*2", "dgx-a100*2", "mi250x"}) {
    SCOPED_TRACE(name);
    const topo::Topology topology = machine(name);
    const uint32_t n = topology.num_ranks();
    const Rings found = rings_of(topology);
    const Collective gather{CollectiveKind::kAllGather, n};
    EXPECT_NEAR(routed_rate(gather, topology, trees_along(found.rings, gather)),
                found.gbps * n / (n - 1), 1e-6);
    const Collective both{CollectiveKind::kAllReduce, n};
    EXPECT_NEAR(routed_rate(both, topology, trees_along(found.rings, both)),
                found.gbps * n / (2 * (n - 1)), 1e-6);
  }
}

TEST(Rings, UseEveryNicBetweenMachines) {
  // Eight NICs of 25 GB/s each way.
  EXPECT_NEAR(rings_of(machine("dgx-a100*2")).gbps, 200, 1e-6);
  // Eight of 50.
  EXPECT_NEAR(rings_of(machine("dgx-h100*2")).gbps, 400, 1e-6);
}

TEST(Rings, OfACrossbarAreFewAndFill) {
  const Rings found = rings_of(machine("dgx-2"));
  EXPECT_EQ(found.rings.size(), 1u);
  EXPECT_NEAR(found.gbps, 150, 1e-6);
}

TEST(Rings, ReachTheBoundOfAllReduceOnAWholeDgxOne) {
  const Packing packing =
      pack_for({CollectiveKind::kAllReduce, 8}, machine("dgx-1v"), "rings").value();
  EXPECT_EQ(packing.rings.size(), 6u);
  EXPECT_NEAR(packing.routed_gbps, packing.bound_gbps, 1e-6);
}

TEST(Rings, AreProvedForEveryCollectiveThatTheyServe) {
  for (const char* name : {"dgx-1v", "ring:5", "ndv2*2", "switch:2"}) {
    for (const CollectiveKind kind : kOnRings) {
      const topo::Topology topology = machine(name);
      const Collective collective{kind, topology.num_ranks(),
                                  is_rooted(kind) ? topology.num_ranks() - 1 : 0};
      for (const uint32_t chunks : {1u, 3u}) {
        SCOPED_TRACE(std::string(name) + " " + std::string(to_string(kind)));
        const auto plan = plan_packed(collective, topology, "rings", chunks, 1 << 20);
        ASSERT_TRUE(plan.ok()) << plan.error().message;
        EXPECT_EQ(plan->schedule.name, "rings");
        expect_proved_and_right(plan->schedule);
      }
    }
  }
}

TEST(Rings, MoveNothingForOneRank) {
  const topo::Topology alone = topo::subset(machine("dgx-1v"), {Rank{3}}).value();
  for (const CollectiveKind kind : kOnRings) {
    expect_proved_and_right(plan_packed({kind, 1}, alone, "rings", 0, 64).value().schedule);
  }
}

// GPU 0 and 4, 0 and 1 have NVLinks, 1 and 4 have none.
TEST(Rings, LeaveFastLinksWhereNoRingOfTheseExists) {
  const topo::Topology topology =
      topo::subset(machine("dgx-1v"), {Rank{0}, Rank{1}, Rank{4}}).value();
  EXPECT_FALSE(rings_of(topology).on_fabric);
}

TEST(Rings, AreRefusedWhereNoneCanBe) {
  topo::Topology row;
  row.name = "row";
  for (const char* name : {"a", "b", "c"}) topo::add_rank(row, name, 0);
  const topo::Wire wire = {topo::LinkClass::kNvlink, 25, 700};
  topo::connect(row, row.ranks[0], row.ranks[1], wire);
  topo::connect(row, row.ranks[1], row.ranks[2], wire);
  const auto none = find_rings(row, fabric_of(row).value());
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(none.error().message, HasSubstr("no ring through all ranks of row"));
  const topo::Topology many = machine("ring:257");
  const auto refused = find_rings(many, Fabric{});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("up to 256 ranks"));
}

}  // namespace
}  // namespace tutti::plan::packing
