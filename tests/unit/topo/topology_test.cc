#include "topo/topology.h"

#include <gtest/gtest.h>

#include <limits>

#include "topo/build.h"

namespace tutti::topo {
namespace {

Topology two_devices() {
  Topology topology;
  topology.name = "two";
  const NodeId a = add_rank(topology, "a", 1);
  const NodeId b = add_rank(topology, "b", 0);
  connect(topology, a, b, {LinkClass::kNvlink, 25, 700});
  return topology;
}

void expect_refused(const Topology& topology, const std::string& message) {
  const Status status = check(topology);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(status.error().message, message);
}

TEST(Topology, WithoutAnythingIsValid) { EXPECT_TRUE(check(Topology{})); }

TEST(Topology, OfTwoDevicesIsValid) { EXPECT_TRUE(check(two_devices())); }

TEST(Topology, MayPutTwoRanksOnOneDevice) {
  Topology topology = two_devices();
  topology.ranks.push_back(NodeId(0));
  EXPECT_TRUE(check(topology));
  EXPECT_EQ(topology.device_of(Rank(2)).name, "a");
}

TEST(Topology, RefusesANameUsedTwice) {
  Topology topology = two_devices();
  topology.nodes[1].name = "a";
  expect_refused(topology, "nodes 0 and 1 are both named 'a'");
}

TEST(Topology, RefusesNamesThatCannotBeWrittenOnACommandLine) {
  for (const std::string name :
       {"", "a b", "a~b", "a=b", "a,b", "a\"b", "a\\b", "a\n", "\xc3\xa9"}) {
    Topology topology = two_devices();
    topology.nodes[1].name = name;
    EXPECT_FALSE(check(topology)) << name;
  }
  EXPECT_TRUE(is_valid_name(std::string(64, 'x')));
  EXPECT_FALSE(is_valid_name(std::string(65, 'x')));
  EXPECT_TRUE(is_valid_name("node1/pci-0000:3b:00.0"));
}

TEST(Topology, RefusesALinkToANodeThatIsNotThere) {
  Topology topology = two_devices();
  topology.links[1].to = NodeId(2);
  expect_refused(topology, "link 1 joins nodes 1 and 2, but there are only 2 nodes");
}

TEST(Topology, RefusesALinkFromANodeToItself) {
  Topology topology = two_devices();
  topology.links[0].to = NodeId(0);
  expect_refused(topology, "link 0 joins 'a' to itself");
}

TEST(Topology, RefusesRatesThatAreNotAboveZero) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double gbps : {0.0, -1.0, nan, infinite}) {
    Topology topology = two_devices();
    topology.links[0].gbps = gbps;
    EXPECT_FALSE(check(topology)) << gbps;
  }
  Topology topology = two_devices();
  topology.links[0].gbps = 0;
  expect_refused(topology,
                 "link 0 from 'a' to 'b': its rate of 0 GB/s is not above zero and at most 1e12");
}

TEST(Topology, RefusesALatencyBelowZero) {
  Topology topology = two_devices();
  topology.links[1].latency_ns = -1;
  expect_refused(topology, "link 1 from 'b' to 'a': its latency of -1 ns is not from 0 to 1e12");
}

TEST(Topology, RefusesAReduceRateBelowZero) {
  Topology topology = two_devices();
  topology.nodes[1].reduce_gbps = -1;
  expect_refused(topology, "node 'b': reduce_gbps -1 is not a rate; 0 means free");
}

TEST(Topology, RefusesAMachineNumberThatWouldNeedHugeTables) {
  Topology topology = two_devices();
  topology.nodes[1].machine = 4'000'000'000;
  expect_refused(topology, "node 'b': machine 4000000000 is not below 1000000");
}

TEST(Topology, RefusesARankOnASwitch) {
  Topology topology = two_devices();
  topology.nodes[1].kind = NodeKind::kSwitch;
  expect_refused(topology, "rank 1 is on 'b', a switch; ranks are on devices");
}

TEST(Topology, RefusesARankOnNoNode) {
  Topology topology = two_devices();
  topology.ranks[0] = NodeId(7);
  expect_refused(topology, "rank 0 is on node 7, but there are only 2 nodes");
}

TEST(Topology, RefusesANameOfItsOwnThatJsonCouldNotHoldPlainly) {
  Topology topology = two_devices();
  topology.name = "a\"b";
  EXPECT_FALSE(check(topology));
  topology.name = "host (unmeasured)";
  EXPECT_TRUE(check(topology));
}

TEST(Topology, SpellsEveryKindAndClassAsItReadsThem) {
  for (const NodeKind kind :
       {NodeKind::kDevice, NodeKind::kSwitch, NodeKind::kNic, NodeKind::kHost}) {
    EXPECT_EQ(parse_node_kind(to_string(kind)), kind);
  }
  for (const LinkClass link_class :
       {LinkClass::kNvlink, LinkClass::kXgmi, LinkClass::kPcie, LinkClass::kSocket,
        LinkClass::kNetwork, LinkClass::kMemory, LinkClass::kOther}) {
    EXPECT_EQ(parse_link_class(to_string(link_class)), link_class);
  }
  EXPECT_EQ(parse_node_kind("gpu"), std::nullopt);
  EXPECT_EQ(parse_link_class(""), std::nullopt);
}

TEST(Topology, FindsNodesByName) {
  EXPECT_EQ(find_node(two_devices(), "b"), NodeId(1));
  EXPECT_EQ(find_node(two_devices(), "c"), std::nullopt);
}

}  // namespace
}  // namespace tutti::topo
