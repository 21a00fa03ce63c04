#include "topo/cluster.h"

#include <gtest/gtest.h>

#include "tests/unit/topo/same.h"
#include "topo/open.h"
#include "topo/rates.h"

namespace tutti::topo {
namespace {

TEST(Cluster, NumbersRanksMachineByMachine) {
  const Topology topology = open("dgx-1v*3").value();
  EXPECT_EQ(topology.name, "dgx-1v*3");
  ASSERT_EQ(topology.num_ranks(), 24u);
  EXPECT_EQ(topology.device_of(Rank(0)).name, "node0/gpu0");
  EXPECT_EQ(topology.device_of(Rank(17)).name, "node2/gpu1");
  EXPECT_EQ(topology.device_of(Rank(17)).machine, 2u);
  EXPECT_EQ(topology.nodes[find_node(topology, "fabric")->value].machine, 3u);
  EXPECT_EQ(num_machines(topology), 3u);
}

TEST(Cluster, JoinsNicsToOneFabricAtTheirRate) {
  const Topology topology = open("dgx-a100*2").value();
  EXPECT_EQ(gbps_between(topology, "node1/nic7", "fabric"), 25);
  EXPECT_EQ(rates(topology).machine_egress_gbps[1], 8 * 25);
  EXPECT_EQ(rates(topology).machine_ingress_gbps[0], 8 * 25);
  EXPECT_EQ(rates(topology).machine_ingress_gbps[2], 2 * 8 * 25);
}

TEST(Cluster, JoinsLeavesToASpineWithoutBlockingUnlessAsked) {
  const Topology topology = open("dgx-a100*2x3").value();
  EXPECT_EQ(topology.num_ranks(), 48u);
  EXPECT_EQ(gbps_between(topology, "node3/nic0", "leaf1"), 25);
  EXPECT_EQ(gbps_between(topology, "leaf1", "spine"), 2 * 8 * 25);
  EXPECT_EQ(gbps_between(open("dgx-a100*2x3/4").value(), "leaf1", "spine"), 100);
  EXPECT_EQ(open("dgx-a100*2x3/4").value().name, "dgx-a100*2x3/4");
}

TEST(Cluster, PutsNicIOfEveryMachineOnRailI) {
  const Topology topology = open("rail:dgx-h100*4").value();
  EXPECT_EQ(topology.name, "rail:dgx-h100*4");
  EXPECT_EQ(gbps_between(topology, "node3/nic5", "rail5"), 50);
  EXPECT_EQ(gbps_between(topology, "node3/nic5", "rail4"), 0);
  EXPECT_EQ(gbps_between(topology, "rail5", "spine"), 4 * 50);
  EXPECT_EQ(gbps_between(open("rail:dgx-h100*4/2").value(), "rail5", "spine"), 100);
}

TEST(Cluster, GivesEveryLeafItsOwnRails) {
  const Topology topology = open("rail:ndv2*2x2").value();
  EXPECT_EQ(gbps_between(topology, "node2/nic0", "leaf1/rail0"), 12.5);
  EXPECT_EQ(gbps_between(topology, "leaf1/rail0", "spine"), 25);
}

TEST(Cluster, GivesANicToEachDeviceOfAMachineThatHasNone) {
  const Topology topology = open("switch:3*2").value();
  EXPECT_EQ(gbps_between(topology, "node1/dev2", "node1/nic2"), 25);
  EXPECT_EQ(gbps_between(topology, "node1/nic2", "fabric"), 25);
}

TEST(Cluster, OfClustersKeepsMachinesApart) {
  const Topology inner = open("switch:1*2").value();
  const Topology topology = cluster(inner, {.machines_per_leaf = 2}).value();
  EXPECT_EQ(num_machines(topology), 4u);
}

void expect_cluster_refused(const std::string& text, const std::string& message) {
  const auto result = open(text);
  ASSERT_FALSE(result) << text;
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(result.error().message, message);
}

TEST(Cluster, RefusesTextThatIsNoCount) {
  const std::string example = "; write for example dgx-a100*4, dgx-a100*4x8/2, rail:dgx-h100*4";
  for (const std::string count : {"", "x", "4x", "-1", "2x2x2", "2/", "2/x", "2x2/2/2", "4 "}) {
    expect_cluster_refused("dgx-1v*" + count, "'" + count + "' is no count of machines" + example);
  }
  expect_cluster_refused("rail:dgx-1v", "'rail:dgx-1v' does not say how many machines" + example);
}

TEST(Cluster, RefusesShapesThatCannotBe) {
  expect_cluster_refused(
      "dgx-1v*0",
      "a cluster has at least one machine; write for example dgx-a100*4, dgx-a100*4x8/2, "
      "rail:dgx-h100*4");
  expect_cluster_refused(
      "dgx-1v*4/2",
      "one switch has no uplinks to oversubscribe: give machines per leaf and leaves, as "
      "in *4x2/2");
  expect_cluster_refused("dgx-1v*2x2/0", "oversubscription 0 is not above 0 and at most 1000");
  expect_cluster_refused(
      "dgx-1v*4294967295x4294967295",
      "18446744065119617025 machines of 18 nodes: more than 1000000 nodes or 8000000 "
      "links");
  expect_cluster_refused("dgx-1v*100000",
                         "100000 machines of 18 nodes: more than 1000000 nodes or 8000000 links");
}

}  // namespace
}  // namespace tutti::topo
