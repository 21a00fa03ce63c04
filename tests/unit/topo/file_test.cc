#include "topo/file.h"

#include <gtest/gtest.h>

#include "tests/unit/topo/golden.h"
#include "tests/unit/topo/same.h"
#include "topo/build.h"
#include "topo/open.h"

namespace tutti::topo {
namespace {

TEST(TopologyFile, HoldsEveryMachineExactly) {
  for (const char* name : {"dgx-1v", "dgx-2", "mi250x", "nvl72", "rail:dgx-h100*3/2", "torus:2x3",
                           "ring:3@0.1GB/s,0.3ns", "mesh:1", "dgx-a100*1x2/3"}) {
    const Topology topology = open(name).value();
    const std::string text = to_json(topology);
    const Topology again = from_json(text, "test").value();
    expect_same(topology, again);
    EXPECT_EQ(to_json(again), text);
  }
}

TEST(TopologyFile, HoldsLinksOfOneDirectionAndUnevenOnes) {
  Topology topology;
  topology.name = "odd";
  const NodeId a = add_rank(topology, "a", 0.1);
  const NodeId b = add_rank(topology, "b", 1e12);
  add_link(topology, b, a, {LinkClass::kPcie, 1.0 / 3, 0.1});
  add_link(topology, a, b, {LinkClass::kPcie, 1.0 / 7, 0.1});
  add_link(topology, a, b, {LinkClass::kMemory, 1e-300, 1e12});
  topology.ranks.push_back(a);
  ASSERT_TRUE(check(topology));
  expect_same(topology, from_json(to_json(topology), "test").value());
}

TEST(TopologyFile, HoldsATopologyOfNothing) {
  expect_same(Topology{}, from_json(to_json(Topology{}), "test").value());
}

TEST(TopologyFile, IsWrittenAsItAlwaysWas) {
  EXPECT_EQ(to_json(open("dgx-1v").value()), golden_text("dgx-1v.json"));
  EXPECT_EQ(to_json(open("rail:switch:2*2/2").value()), golden_text("rails.json"));
}

// The golden file with one piece of text replaced.
std::string golden_file_with(const std::string& from, const std::string& to) {
  std::string text = golden_text("rails.json");
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

void expect_file_refused(const std::string& text, const std::string& message) {
  const auto result = from_json(text, "t.json");
  ASSERT_FALSE(result) << message;
  EXPECT_EQ(result.error().code, ErrorCode::kMalformed);
  EXPECT_EQ(result.error().message, message);
}

TEST(TopologyFile, IsRefusedWithTheLineAndTheField) {
  expect_file_refused("[]", "t.json:1: must be an object");
  expect_file_refused("{}", "t.json:1: field 'format' is missing");
  expect_file_refused(golden_file_with("tutti-topology", "schedule"),
                      "t.json:2: 'format': must be 'tutti-topology'");
  expect_file_refused(golden_file_with("\"version\": 1", "\"version\": 2"),
                      "t.json:3: 'version': must be a whole number from 1 to 1");
  expect_file_refused(
      golden_file_with("\"nodes\"", "\"node\""),
      "t.json:5: 'node': unknown field; expected one of: format, version, name, nodes, "
      "links, ranks");
  expect_file_refused(
      golden_file_with("node0/dev0", "node0/dev 0"),
      "t.json:6: 'name': a name is 1 to 64 visible ASCII characters, none of ~ = , \\ \"");
  expect_file_refused(golden_file_with("node0/dev1", "node0/dev0"),
                      "t.json:7: 'name': a node named 'node0/dev0' is there already");
  expect_file_refused(golden_file_with("\"device\"", "\"gpu\""),
                      "t.json:6: 'kind': must be device, switch, nic or host");
  expect_file_refused(golden_file_with("\"machine\": 0", "\"machine\": -1"),
                      "t.json:6: 'machine': must be a whole number from 0 to 999999");
  expect_file_refused(golden_file_with("\"name\": \"node0/dev0\"", "\"name\": 5"),
                      "t.json:6: 'name': must be a string");
}

TEST(TopologyFile, IsRefusedWithTheLineWhenItIsNoJson) {
  const auto result = from_json("{\n\n]", "t.json");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kMalformed);
  EXPECT_EQ(result.error().message.rfind("t.json:3: not JSON", 0), 0u) << result.error().message;
}

TEST(TopologyFile, IsRefusedForLinksThatCannotBe) {
  expect_file_refused(
      golden_file_with("[\"node0/dev0\", \"node0/switch\"]", "[\"node0/dev0\", \"nowhere\"]"),
      "t.json:21: no node is named 'nowhere'");
  expect_file_refused(golden_file_with("[\"node0/dev0\", \"node0/switch\"]", "[\"node0/dev0\"]"),
                      "t.json:21: 'between': has no element 1");
  expect_file_refused(golden_file_with("[\"node0/dev0\", \"node0/switch\"]",
                                       "[\"node0/dev0\", \"node0/switch\", \"x\"]"),
                      "t.json:21: 'between': must be two names of nodes");
  expect_file_refused(
      golden_file_with("[\"node0/dev0\", \"node0/switch\"]", "[\"node0/dev0\", \"node0/dev0\"]"),
      "t.json:21: a link joins two different nodes");
  expect_file_refused(golden_file_with("\"between\"", "\"from\": \"rail0\", \"between\""),
                      "t.json:21: 'between': stands for both directions: leave out from and to");
  expect_file_refused(golden_file_with("\"between\": [\"node0/dev0\", \"node0/switch\"], ", ""),
                      "t.json:21: field 'from' is missing");
  expect_file_refused(
      golden_file_with("\"other\"", "\"ethernet\""),
      "t.json:21: 'class': must be nvlink, xgmi, pcie, socket, network, memory or other");
  expect_file_refused(golden_file_with("\"gbps\": 25", "\"gbps\": 0"),
                      "t.json:21: 'gbps': must be above 0");
  expect_file_refused(golden_file_with("\"gbps\": 25", "\"gbps\": \"fast\""),
                      "t.json:21: 'gbps': must be a number from 0 to 1000000000000");
  expect_file_refused(golden_file_with("\"latency_ns\": 350", "\"latency_ns\": -350"),
                      "t.json:21: 'latency_ns': must be a number from 0 to 1000000000000");
}

TEST(TopologyFile, IsRefusedForRanksThatCannotBe) {
  const std::string ranks = "\"node0/dev0\", \"node0/dev1\", \"node1/dev0\"";
  expect_file_refused(golden_file_with(ranks, "\"spine\""),
                      "t.json:37: 'spine' is a switch; ranks are on devices");
  expect_file_refused(golden_file_with(ranks, "7"), "t.json:37: must be a string");
  expect_file_refused(golden_file_with(ranks, "\"nobody\""),
                      "t.json:37: no node is named 'nobody'");
}

TEST(TopologyFile, IsRefusedForANameThatCouldNotBeWritten) {
  expect_file_refused(
      golden_file_with("rail:switch:2*2/2", "a\\\"b"),
      "t.json: the topology's name is not printable ASCII without quote and backslash");
}

}  // namespace
}  // namespace tutti::topo
