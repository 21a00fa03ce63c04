// The door: topologies in, trees and bounds out, and what is refused.
#include "plan/packing/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/packed.h"
#include "plan/packing/certificate.h"
#include "tests/unit/packing/machine.h"
#include "tests/unit/plan/expect_proved.h"
#include "topo/build.h"
#include "topo/variants.h"

namespace tutti::plan::packing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr CollectiveKind kServed[] = {CollectiveKind::kBroadcast, CollectiveKind::kReduce,
                                      CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                                      CollectiveKind::kAllReduce};

topo::Topology some_of(const std::string& name, std::initializer_list<uint32_t> ranks) {
  std::vector<Rank> chosen;
  for (const uint32_t r : ranks) chosen.emplace_back(r);
  return topo::subset(machine(name), chosen).value();
}

void expect_sound(const topo::Topology& topology) {
  for (const CollectiveKind kind : kServed) {
    SCOPED_TRACE(to_string(kind));
    const Collective collective{kind, topology.num_ranks()};
    const auto packing = pack(collective, topology);
    ASSERT_TRUE(packing.ok()) << packing.error().message;
    EXPECT_LE(packing->routed_gbps, packing->whole_gbps * (1 + 1e-9));
    EXPECT_LE(packing->trees_gbps, packing->bound_gbps * (1 + 1e-9));
    EXPECT_GT(packing->routed_gbps, 0);
    if (topology.num_ranks() > 1) {
      EXPECT_THAT(certificate(collective, topology, *packing), HasSubstr("at most"));
    }
    expect_proved_and_right(make_packed(collective, *packing, "packed", 2).value());
  }
}

TEST(Pack, ServesMachinesOfAllKinds) {
  for (const char* name : {"dgx-1v", "dgx-a100", "mi300x", "ring:5", "switch:6", "ndv2*2"}) {
    SCOPED_TRACE(name);
    expect_sound(machine(name));
  }
}

TEST(Pack, ServesFragmentsAndOneRank) {
  expect_sound(some_of("dgx-1v", {0, 1, 6}));
  expect_sound(some_of("dgx-1v", {2, 5}));
  const topo::Topology alone = some_of("dgx-1v", {3});
  for (const CollectiveKind kind : kServed) {
    const Packing packing = pack({kind, 1}, alone).value();
    EXPECT_TRUE(packing.trees.empty());
    expect_proved_and_right(make_packed({kind, 1}, packing, "packed", 3).value());
  }
}

TEST(Pack, PacksAroundAFailedAndASlowLink) {
  const topo::Topology whole = machine("dgx-1v");
  const topo::Topology failed = topo::without_link(whole, "gpu0", "gpu3").value();
  const topo::Topology slow = topo::change_link(whole, {"gpu0", "gpu3", 0.5}).value();
  const Collective broadcast{CollectiveKind::kBroadcast, 8};
  EXPECT_EQ(pack(broadcast, failed)->routed_gbps, 100);
  EXPECT_EQ(pack(broadcast, slow)->routed_gbps, 125);
  expect_sound(failed);
  expect_sound(slow);
}

TEST(Pack, TakesRatesThatAreNoWholeMultiplesOfEachOther) {
  topo::Topology topology = machine("ring:4");
  const double rates[] = {1.1, 2.3, 0.7, 3.1415};
  for (size_t l = 0; l < topology.links.size(); ++l) topology.links[l].gbps = rates[l / 2 % 4];
  expect_sound(topology);
}

// Ranks in a row, with nothing but links between neighbours: what is for the last passes all
// others.
TEST(Pack, RelaysThroughRanks) {
  topo::Topology row;
  row.name = "row";
  for (const char* name : {"a", "b", "c", "d"}) topo::add_rank(row, name, 0);
  for (uint32_t r = 0; r < 3; ++r) {
    topo::connect(row, row.ranks[r], row.ranks[r + 1], {topo::LinkClass::kOther, 4, 0});
  }
  expect_sound(row);
  const Packing packing = pack({CollectiveKind::kBroadcast, 4}, row).value();
  EXPECT_EQ(packing.routed_gbps, 4);
  EXPECT_EQ(packing.depth, 3u);
}

TEST(Pack, KeepsToNvlinkWhereThatSuffices) {
  const Packing packing = pack({CollectiveKind::kBroadcast, 8}, machine("dgx-1v")).value();
  const topo::Topology topology = machine("dgx-1v");
  for (size_t l = 0; l < topology.links.size(); ++l) {
    if (packing.fabric.is_used[l]) {
      EXPECT_EQ(topology.links[l].link_class, topo::LinkClass::kNvlink);
    }
  }
}

TEST(Certificate, NamesTheCutItsLinksAndWhatTheOthersCouldAdd) {
  const topo::Topology topology = topo::without_link(machine("dgx-1v"), "gpu0", "gpu3").value();
  const Collective broadcast{CollectiveKind::kBroadcast, 8};
  const Packing packing = pack(broadcast, topology).value();
  const std::string text = certificate(broadcast, topology, packing);
  EXPECT_THAT(text, HasSubstr("at most 100 GB/s"));
  EXPECT_THAT(text, HasSubstr("the whole message must leave gpu0"));
  EXPECT_THAT(text, HasSubstr("gpu0->gpu4 50"));
  EXPECT_THAT(text, HasSubstr("pcie"));
  EXPECT_THAT(summary(packing), HasSubstr("as fast as any schedule"));
}

TEST(Certificate, LeavesOutWhatBelongsToOtherDevices) {
  const topo::Topology topology = some_of("dgx-1v", {0, 1, 2, 4, 7});
  const Collective broadcast{CollectiveKind::kBroadcast, 5};
  EXPECT_THAT(certificate(broadcast, topology, pack(broadcast, topology).value()),
              HasSubstr("left out (pcie, socket)"));
}

TEST(Certificate, NamesGroupsOfAnAllReduce) {
  const topo::Topology topology = some_of("dgx-1v", {0, 1, 6});
  const Collective all_reduce{CollectiveKind::kAllReduce, 3};
  const Packing packing = pack(all_reduce, topology).value();
  EXPECT_THAT(certificate(all_reduce, topology, packing),
              HasSubstr("between the 2 groups {gpu0,gpu1} gpu6 every byte must cross 2 times"));
}

std::string refusal(const Collective& collective, const topo::Topology& topology,
                    Method method = Method::kExact) {
  const auto packing = pack(collective, topology, method);
  EXPECT_FALSE(packing.ok());
  return packing.ok() ? "" : packing.error().message;
}

TEST(Pack, RefusesWhatItCannotServeAndSaysWhy) {
  const topo::Topology ring = machine("ring:4");
  EXPECT_THAT(refusal({CollectiveKind::kAllToAll, 4}, ring), HasSubstr("all_to_all"));
  EXPECT_THAT(refusal({CollectiveKind::kAllGather, 4}, ring, Method::kBlink), HasSubstr("blink"));
  EXPECT_THAT(refusal({CollectiveKind::kBroadcast, 5}, ring), HasSubstr("5 ranks"));
  EXPECT_THAT(refusal({CollectiveKind::kBroadcast, 4, 4}, ring), HasSubstr("root 4"));
}

TEST(Pack, TellsADisconnectedTopologyFromALinkWithoutRate) {
  topo::Topology islands;
  islands.name = "islands";
  const topo::NodeId a = topo::add_rank(islands, "a", 0);
  const topo::NodeId b = topo::add_rank(islands, "b", 0);
  topo::add_rank(islands, "c", 0);
  topo::connect(islands, a, b, {topo::LinkClass::kOther, 1, 0});
  EXPECT_THAT(
      refusal({CollectiveKind::kBroadcast, 3}, islands),
      ::testing::AllOf(HasSubstr("a (rank 0) cannot reach c (rank 2)"), Not(HasSubstr("GB/s"))));
  islands.ranks.pop_back();
  islands.links[0].gbps = 0;
  EXPECT_THAT(refusal({CollectiveKind::kBroadcast, 2}, islands),
              HasSubstr("rate of 0 GB/s is not above zero"));
  islands.links[0].gbps = 1e-9;
  EXPECT_THAT(refusal({CollectiveKind::kBroadcast, 2}, islands), HasSubstr("1 kB/s"));
  islands.links[0].gbps = 1;
  islands.ranks[1] = islands.ranks[0];
  EXPECT_THAT(refusal({CollectiveKind::kBroadcast, 2}, islands), HasSubstr("shares a"));
}

TEST(PackedPlan, ChoosesMorePiecesForLongerMessages) {
  const topo::Topology topology = machine("dgx-1v");
  const Collective broadcast{CollectiveKind::kBroadcast, 8};
  const auto few = plan_packed(broadcast, topology, "packed", 0, 1 << 10).value();
  const auto many = plan_packed(broadcast, topology, "packed", 0, 1 << 28).value();
  EXPECT_LT(few.chunks, many.chunks);
  EXPECT_EQ(many.schedule.name, "packed");
  EXPECT_EQ(plan_packed(broadcast, topology, "packed", 3, 1 << 28)->chunks, 3u);
  EXPECT_EQ(plan_packed(broadcast, topology, "ring", 0, 8).error().code, ErrorCode::kNotFound);
}

TEST(PackedPlan, OfBlinkIsNoFasterThanThatOfTheExactPacking) {
  const topo::Topology topology = machine("dgx-1v");
  const Collective broadcast{CollectiveKind::kBroadcast, 8};
  const Packing exact = pack_for(broadcast, topology, "packed").value();
  const Packing blink = pack_for(broadcast, topology, "blink").value();
  EXPECT_LE(blink.routed_gbps, exact.routed_gbps);
  EXPECT_GE(blink.routed_gbps, 0.9 * exact.routed_gbps);
  expect_proved(make_packed(broadcast, blink, "blink", 1).value());
}

}  // namespace
}  // namespace tutti::plan::packing
