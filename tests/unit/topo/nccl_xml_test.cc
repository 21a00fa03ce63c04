#include "topo/nccl_xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/topo/golden.h"
#include "tests/unit/topo/same.h"
#include "topo/rates.h"
#include "topo/router.h"

namespace tutti::topo {
namespace {

Topology golden_xml(const std::string& name) {
  return from_nccl_xml(golden_text(name), name).value();
}

TEST(NcclXml, ReadsPcieNvlinkAndNics) {
  const Topology topology = golden_xml("two-sockets.xml");
  EXPECT_EQ(gbps_between(topology, "gpu0", "gpu1"), 50);
  EXPECT_EQ(gbps_between(topology, "gpu1", "gpu0"), 50);
  EXPECT_EQ(gbps_between(topology, "gpu0", "gpu2"), 25);
  EXPECT_EQ(gbps_between(topology, "gpu1", "gpu2"), 0);
  EXPECT_EQ(gbps_between(topology, "gpu0", "pci-0000:16:00.0"), 15.75);
  EXPECT_EQ(gbps_between(topology, "pci-0000:16:00.0", "cpu0"), 15.75);
  EXPECT_EQ(gbps_between(topology, "gpu2", "cpu1"), 15.75);  // no speed given: 8 GT/s x16
  EXPECT_EQ(gbps_between(topology, "cpu0", "cpu1"), 10);     // a Skylake
  EXPECT_EQ(gbps_between(topology, "mlx5_0", "pci-0000:16:00.0"), 7.88);   // the slot, x8
  EXPECT_EQ(gbps_between(topology, "mlx5_1", "pci-0000:16:00.0"), 3.125);  // the port
  EXPECT_EQ(gbps_between(topology, "eth0", "cpu1"), 1.25);
  EXPECT_EQ(topology.nodes[find_node(topology, "gpu0")->value].reduce_gbps, 300);
}

TEST(NcclXml, OrdersRanksAsTheJobThatWroteIt) {
  const Topology topology = golden_xml("two-sockets.xml");
  ASSERT_EQ(topology.num_ranks(), 3u);
  EXPECT_EQ(topology.device_of(Rank(0)).name, "gpu1");
  EXPECT_EQ(topology.device_of(Rank(1)).name, "gpu0");
  EXPECT_EQ(topology.device_of(Rank(2)).name, "gpu2");
}

TEST(NcclXml, RoutesEveryPairOfItsRanks) {
  for (const char* name : {"two-sockets.xml", "nvswitch.xml"}) {
    const Topology topology = golden_xml(name);
    Router router(topology);
    for (uint32_t from = 0; from < topology.num_ranks(); ++from) {
      for (uint32_t to = 0; to < topology.num_ranks(); ++to) {
        EXPECT_TRUE(router.route(Rank(from), Rank(to)));
      }
    }
  }
}

TEST(NcclXml, MakesOneCrossbarOfNvswitches) {
  const Topology topology = golden_xml("nvswitch.xml");
  EXPECT_EQ(gbps_between(topology, "gpu0", "nvswitch"), 300);
  EXPECT_EQ(gbps_between(topology, "nvswitch", "gpu1"), 300);
  EXPECT_EQ(gbps_between(topology, "gpu0", "cpu"), 31.51);
}

TEST(NcclXml, TellsMachinesByTheirHash) {
  const Topology topology =
      from_nccl_xml(
          "<system><cpu host_hash='a' numaid='0'><pci busid='0:1' class='0x030200'/></cpu>"
          "<cpu host_hash='b' numaid='0'><pci busid='0:1' class='0x030200'/></cpu></system>",
          "x")
          .value();
  EXPECT_EQ(num_machines(topology), 2u);
  EXPECT_EQ(topology.device_of(Rank(0)).name, "node0/gpu0");
  EXPECT_EQ(topology.device_of(Rank(1)).name, "node1/gpu1");
}

TEST(NcclXml, ReadsXgmiAndC2c) {
  const Topology topology =
      from_nccl_xml(
          "<system><cpu numaid='0'>"
          "<pci busid='0:1'><gpu dev='0' gcn='gfx942'>"
          "<xgmi target='0:2' count='1' tclass='0x038000'/>"
          "<c2c bw='25000' count='18'/></gpu></pci>"
          "<pci busid='0:2'><gpu dev='1' gcn='gfx90a'>"
          "<xgmi target='0:1' count='2' tclass='0x038000'/></gpu></pci></cpu></system>",
          "x")
          .value();
  EXPECT_EQ(gbps_between(topology, "gpu0", "gpu1"), 64);
  EXPECT_EQ(gbps_between(topology, "gpu1", "gpu0"), 100);
  EXPECT_EQ(egress_gbps(topology, topology.ranks[0], LinkClass::kNvlink), 450);
}

// The golden file with one piece of text replaced, the first time it stands there.
std::string golden_with(const std::string& from, const std::string& to) {
  std::string text = golden_text("two-sockets.xml");
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

void expect_xml_refused(const std::string& text, const std::string& message) {
  const auto result = from_nccl_xml(text, "t.xml");
  ASSERT_FALSE(result) << message;
  EXPECT_EQ(result.error().code, ErrorCode::kMalformed);
  EXPECT_EQ(result.error().message, message);
}

TEST(NcclXml, IsRefusedWhenItIsNoXml) {
  expect_xml_refused("", "t.xml:0: not XML (XML_ERROR_EMPTY_DOCUMENT)");
  expect_xml_refused("<system>\n<cpu>\n</system>",
                     "t.xml:2: not XML (XML_ERROR_MISMATCHED_ELEMENT)");
  expect_xml_refused("<!-- nothing -->",
                     "t.xml:1: not a topology of NCCL: its first element is not <system>");
  expect_xml_refused("\n<algo/>",
                     "t.xml:2: not a topology of NCCL: its first element is not <system>");
  expect_xml_refused("<system/>", "t.xml:1: <system>: has no <gpu> in any <cpu>");
  std::string deep = "<system><cpu numaid='0'>";
  for (int i = 0; i < 100'000; ++i) deep += "<pci busid='0'>";
  expect_xml_refused(deep, "t.xml:1: not XML (XML_ELEMENT_DEPTH_EXCEEDED)");
}

TEST(NcclXml, IsRefusedWithTheLineTheElementAndTheAttribute) {
  expect_xml_refused(golden_with("numaid=\"0\"", "numaid=\"zero\""),
                     "t.xml:2: <cpu> numaid: must be a whole number from 0 to 65536");
  expect_xml_refused(golden_with("numaid=\"1\"", "numaid=\"0\""),
                     "t.xml:24: <cpu>: 'cpu0' is there already, on line 2");
  expect_xml_refused(golden_with("modelid=\"85\"", "modelid=\"x\""),
                     "t.xml:2: <cpu> modelid: must be a whole number from 0 to 4294967295");
  expect_xml_refused(golden_with("busid=\"0000:16:00.0\"", "busid=\"a b\""),
                     "t.xml:3: <pci> busid: must be like 0000:3b:00.0");
  expect_xml_refused(golden_with("8.0 GT/s PCIe", "9.0 GT/s PCIe"),
                     "t.xml:3: <pci> link_speed: must be 2.5, 5, 8, 16, 32 or 64 GT/s");
  expect_xml_refused(golden_with("link_width=\"16\"", "link_width=\"-16\""),
                     "t.xml:3: <pci> link_width: must be a whole number from 1 to 32");
  expect_xml_refused(golden_with("dev=\"0\"", "dev=\"\""),
                     "t.xml:5: <gpu> dev: must be a whole number from 0 to 1048576");
  expect_xml_refused(golden_with("sm=\"70\"", "sm=\"7.0\""),
                     "t.xml:5: <gpu> sm: must be a whole number from 0 to 10000");
  expect_xml_refused(golden_with("rank=\"5\"", "rank=\"r\""),
                     "t.xml:5: <gpu> rank: must be a whole number from 0 to 2147483648");
  expect_xml_refused(golden_with("rank=\"4\"", "rank=\"5\""),
                     "t.xml:12: <gpu> rank: 5 is given twice, first on line 5");
  expect_xml_refused(golden_with("count=\"2\"", "count=\"0\""),
                     "t.xml:6: <nvlink> count: must be a whole number from 1 to 1024");
  expect_xml_refused(
      golden_with("tclass=\"0x030200\"", "tclass=\"0x99\""),
      "t.xml:6: <nvlink> tclass: must be 0x03.... (GPU), 0x068000 (switch) or 0x068001 "
      "(CPU)");
  expect_xml_refused(golden_with("target=\"0000:1b:00.0\"", "target=\"0000:1a:00.0\""),
                     "t.xml:6: <nvlink> target: is the GPU itself");
  expect_xml_refused(golden_with("speed=\"100000\"", "speed=\"1e5\""),
                     "t.xml:18: <net> speed: must be a whole number from 1 to 100000000");
  expect_xml_refused(golden_with("name=\"mlx5_0\"", "name=\"mlx5 0\""),
                     "t.xml:18: <net>: 'mlx5 0' cannot name a node");
  expect_xml_refused(golden_with("name=\"mlx5_1\"", "name=\"mlx5_0\""),
                     "t.xml:19: <net>: 'mlx5_0' is there already, on line 18");
}

}  // namespace
}  // namespace tutti::topo
