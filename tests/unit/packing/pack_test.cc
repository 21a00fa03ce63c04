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

// Only GPU 0 has NVLinks with both others. With GPU 5 between these, trees carry twice as much.
TEST(Pack, GoesThroughRelays) {
  const topo::Topology fragment = some_of("dgx-1v", {0, 1, 4});
  const topo::Topology relayed =
      topo::with_relays(fragment, {*topo::find_node(fragment, "gpu5")}).value();
  const Collective broadcast{CollectiveKind::kBroadcast, 3};
  EXPECT_EQ(pack(broadcast, fragment)->routed_gbps, 25);
  EXPECT_EQ(pack(broadcast, relayed)->routed_gbps, 50);
  EXPECT_EQ(pack(broadcast, relayed)->bound_gbps, 50);
  expect_sound(relayed);
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

// a and b behind one switch, c and d behind another; between the two links go one way only.
topo::Topology switches_joined_one_way() {
  topo::Topology topology;
  topology.name = "one way";
  const topo::Wire wire = {topo::LinkClass::kNvlink, 25, 700};
  for (const char* name : {"a", "b", "c", "d"}) topo::add_rank(topology, name, 0);
  for (uint32_t half = 0; half < 2; ++half) {
    const topo::NodeId middle =
        topo::add_node(topology, topo::NodeKind::kSwitch, half == 0 ? "s" : "t");
    topo::connect(topology, topology.ranks[2 * half], middle, wire);
    topo::connect(topology, topology.ranks[2 * half + 1], middle, wire);
  }
  topo::add_link(topology, topology.ranks[1], topology.ranks[2], wire);
  topo::add_link(topology, topology.ranks[3], topology.ranks[0], wire);
  return topology;
}

topo::Topology one_way_ring(uint32_t num_ranks) {
  topo::Topology topology;
  topology.name = "one-way ring";
  for (uint32_t r = 0; r < num_ranks; ++r) topo::add_rank(topology, "r" + std::to_string(r), 0);
  for (uint32_t r = 0; r < num_ranks; ++r) {
    topo::add_link(topology, topology.ranks[r], topology.ranks[(r + 1) % num_ranks],
                   {topo::LinkClass::kNvlink, 25, 700});
  }
  return topology;
}

TEST(Pack, ServesLinksThatGoOneWay) {
  expect_sound(switches_joined_one_way());
  expect_sound(one_way_ring(3));
  expect_sound(one_way_ring(7));
}

// Every byte crosses each of the three links four times: a sum to each third, and that to the
// others.
TEST(Pack, SendsSumsUpByOtherTreesThanDownWhereLinksGoOneWay) {
  const Packing packing = pack({CollectiveKind::kAllReduce, 3}, one_way_ring(3)).value();
  EXPECT_DOUBLE_EQ(packing.routed_gbps, 25 * 3 / 4.0);
  EXPECT_DOUBLE_EQ(packing.bound_gbps, 25 * 3 / 4.0);
  EXPECT_THAT(summary(packing), HasSubstr("as fast as any schedule"));
}

// What a probe measures: no two links of a DGX-1V are as fast as each other.
topo::Topology measured_dgx1v() {
  topo::Topology topology = machine("dgx-1v");
  const double per_link[] = {22.93, 23.11, 23.195, 23.415, 23.11,  23.38, 22.045, 22.7,
                             23.42, 22.97, 23.35,  22.17,  22.705, 22.37, 22.82,  22.86};
  size_t next = 0;
  for (size_t l = 0; l + 1 < topology.links.size(); l += 2) {
    if (topology.links[l].link_class != topo::LinkClass::kNvlink) continue;
    const double wires = topology.links[l].gbps / 25;
    topology.links[l].gbps = topology.links[l + 1].gbps = wires * per_link[next++ % 16];
  }
  return topology;
}

TEST(Pack, ComesNearTheBoundWithMeasuredRates) {
  const topo::Topology topology = measured_dgx1v();
  for (const CollectiveKind kind : kServed) {
    SCOPED_TRACE(to_string(kind));
    const Packing packing = pack({kind, 8}, topology).value();
    EXPECT_GE(packing.routed_gbps, 0.95 * packing.bound_gbps);
    if (is_rooted(kind)) {
      EXPECT_LE(packing.trees.size(), 16u);
    }
  }
}

// A third of a link is no whole number of kB/s.
TEST(Pack, TakesWhatRoundingToKilobytesLosesForNothing) {
  const topo::Topology third =
      topo::change_link(machine("dgx-1v"), {"gpu0", "gpu3", 1 / 3.0}).value();
  for (const CollectiveKind kind : kServed) {
    SCOPED_TRACE(to_string(kind));
    const Packing packing = pack({kind, 8}, third).value();
    EXPECT_GE(packing.routed_gbps, 0.99 * packing.bound_gbps);
  }
  const Packing packing = pack({CollectiveKind::kBroadcast, 8}, third).value();
  EXPECT_THAT(summary(packing), HasSubstr("as fast as any schedule"));
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

TEST(Certificate, BoundsTheTimeByTheCutAndItsLatency) {
  const topo::Topology topology = machine("dgx-1v");
  const Packing packing = pack({CollectiveKind::kBroadcast, 8}, topology).value();
  EXPECT_DOUBLE_EQ(least_ns(topology, packing, 150'000), 1000 + 700);
  for (const CollectiveKind kind : kServed) {
    const Collective collective{kind, 8};
    const auto plan = plan_packed(collective, topology, "packed", 0, 4096).value();
    EXPECT_LE(least_ns(topology, plan.packing, 4096), plan.ns) << to_string(kind);
  }
  EXPECT_EQ(least_ns(topology, Packing{}, 8), 0);
}

// What comes to a GPU comes through the switch, with the latency of both links.
TEST(Certificate, CountsTheLatencyOfTheWholeWayOverTheCut) {
  const topo::Topology topology = machine("switch:8");
  for (const CollectiveKind kind : {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter}) {
    const Packing packing = pack({kind, 8}, topology).value();
    EXPECT_DOUBLE_EQ(least_ns(topology, packing, 8 * 25'000), 7 * 1000 + 700) << to_string(kind);
  }
}

// From one end of a line to the other, whichever way it goes.
TEST(Certificate, CountsTheWayToTheFarthestRank) {
  const topo::Topology topology = machine("grid:1x4");
  for (const CollectiveKind kind : {CollectiveKind::kBroadcast, CollectiveKind::kReduce}) {
    const Packing packing = pack({kind, 4}, topology).value();
    EXPECT_DOUBLE_EQ(least_ns(topology, packing, 25'000), 1000 + 3 * 700) << to_string(kind);
  }
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

TEST(Pack, SaysWhatDevicesWithoutARankWouldBeWorthAsRelays) {
  const Collective broadcast{CollectiveKind::kBroadcast, 5};
  const topo::Topology fragment = some_of("dgx-1v", {0, 1, 2, 4, 7});
  const Packing packing = pack(broadcast, fragment).value();
  // Into GPUs 1 and 2 lead two links from GPU 0, and through GPUs 3, 5 and 6 as many as they have.
  EXPECT_GT(packing.relay_gbps, packing.bound_gbps);
  EXPECT_LE(packing.relay_gbps,
            pack({CollectiveKind::kBroadcast, 8}, machine("dgx-1v"))->bound_gbps);
  EXPECT_THAT(certificate(broadcast, fragment, packing), HasSubstr("hold no rank relayed"));
  EXPECT_EQ(pack({CollectiveKind::kBroadcast, 8}, machine("dgx-1v"))->relay_gbps, 0);
}

// Routes alone leave a fourteenth of the rate here: one NIC then serves all.
TEST(Pack, ComesNearTheBoundOnTwoMachinesWhoseNicFailed) {
  const topo::Topology two = topo::without_link(machine("dgx-2*2"), "node0/nic0", "fabric").value();
  const Packing packing = pack({CollectiveKind::kBroadcast, 32}, two).value();
  EXPECT_GE(packing.routed_gbps, 0.9 * packing.bound_gbps);
  EXPECT_LE(packing.routed_gbps, packing.bound_gbps * (1 + kRounding));
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

// Two machines behind a switch each, with narrow links of long latency between: the blocks of one
// cross to the other and are spread there.
topo::Topology two_crossbars() {
  topo::Topology topology;
  topology.name = "two crossbars";
  for (uint32_t r = 0; r < 8; ++r) {
    topo::add_rank(topology, "gpu" + std::to_string(r), 0);
    topology.nodes.back().machine = r / 4;
  }
  for (uint32_t half = 0; half < 2; ++half) {
    const topo::NodeId hub =
        topo::add_node(topology, topo::NodeKind::kSwitch, "switch" + std::to_string(half));
    topology.nodes.back().machine = half;
    for (uint32_t g = 0; g < 4; ++g) {
      topo::connect(topology, topology.ranks[4 * half + g], hub,
                    {topo::LinkClass::kNvlink, 125, 350});
    }
    for (const uint32_t g : {1u, 3u}) {
      topo::add_link(topology, topology.ranks[4 * half + g], topology.ranks[4 * (1 - half) + g - 1],
                     {topo::LinkClass::kNetwork, 12.5, 2600});
    }
  }
  return topology;
}

TEST(QuickTrees, TakeTheLeastLatencyForAShortMessage) {
  const Collective all_gather{CollectiveKind::kAllGather, 8};
  const auto quick = plan_packed(all_gather, two_crossbars(), "quick", 0, 8).value();
  // To the sender of a machine, across, and on from there: 700 + 2600 + 700, and the bytes.
  EXPECT_GE(quick.ns, 4000);
  EXPECT_LE(quick.ns, 4010);
  EXPECT_EQ(quick.schedule.name, "quick");
}

TEST(QuickTrees, CrossNarrowLinksOnceWhereTheMessageIsLong) {
  const Collective all_gather{CollectiveKind::kAllGather, 8};
  const auto quick = plan_packed(all_gather, two_crossbars(), "quick", 0, 1 << 26).value();
  // Four blocks over two links.
  EXPECT_GE(quick.packing.routed_gbps, 0.9 * 12.5 * 8 / 2);
}

TEST(QuickTrees, ServeAllThatTreesServe) {
  for (const topo::Topology& topology :
       {two_crossbars(), machine("dgx-1v"), machine("ring:5"), one_way_ring(4)}) {
    for (const CollectiveKind kind : kServed) {
      SCOPED_TRACE(topology.name + " " + std::string(to_string(kind)));
      const Collective collective{kind, topology.num_ranks(), is_rooted(kind) ? 1u : 0u};
      const auto quick = plan_packed(collective, topology, "quick", 0, 1000);
      ASSERT_TRUE(quick.ok()) << quick.error().message;
      expect_proved_and_right(quick->schedule);
    }
  }
  const auto alone =
      plan_packed({CollectiveKind::kAllReduce, 1}, some_of("dgx-1v", {3}), "quick", 0, 1000);
  ASSERT_TRUE(alone.ok());
  expect_proved_and_right(alone->schedule);
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
