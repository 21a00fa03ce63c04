#include "topo/machines.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <set>

#include "tests/unit/topo/same.h"
#include "topo/open.h"
#include "topo/rates.h"
#include "topo/router.h"

namespace tutti::topo {
namespace {

Topology machine(const std::string& name) {
  Topology topology = make_machine(name).value();
  EXPECT_EQ(topology.name, name);
  return topology;
}

double total(const Topology& topology, Rank rank, LinkClass link_class) {
  return egress_gbps(topology, topology.ranks[rank.value], link_class);
}

// One test for each entry of the list, and sizes that a formula can get wrong.
class EveryMachine : public testing::TestWithParam<const char*> {};

TEST_P(EveryMachine, PassesTheCheckAndRoutesEveryPair) {
  const Topology topology = open(GetParam()).value();
  EXPECT_TRUE(check(topology));
  ASSERT_GE(topology.num_ranks(), 1u);
  Router router(topology);
  for (uint32_t from = 0; from < topology.num_ranks(); ++from) {
    for (uint32_t to = 0; to < topology.num_ranks(); ++to) {
      EXPECT_TRUE(router.route(Rank(from), Rank(to))) << from << " to " << to;
    }
  }
}

TEST_P(EveryMachine, HasTheSameFiguresInBothDirections) {
  const Topology topology = open(GetParam()).value();
  std::multiset<std::tuple<NodeId, NodeId, LinkClass, double, double>> there;
  std::multiset<std::tuple<NodeId, NodeId, LinkClass, double, double>> back;
  for (const Link& link : topology.links) {
    there.emplace(link.from, link.to, link.link_class, link.gbps, link.latency_ns);
    back.emplace(link.to, link.from, link.link_class, link.gbps, link.latency_ns);
  }
  EXPECT_EQ(there, back);
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryMachine,
    testing::Values("dgx-1p", "dgx-1v", "ndv2", "dgx-2", "dgx-a100", "dgx-h100", "nvl72", "mi250x",
                    "mi300x", "ring:1", "ring:2", "ring:3", "ring:8", "torus:1x1", "torus:2x2",
                    "torus:3x5", "torus:2x3x4", "grid:1x1", "grid:1x5", "grid:2x3x4", "mesh:1",
                    "mesh:7", "switch:1", "switch:13", "dgx-1p*1", "dgx-1v*2", "ndv2*3", "dgx-2*2",
                    "dgx-a100*4", "rail:dgx-h100*3", "nvl72*2", "rail:mi250x*2", "mi300x*2x2/2",
                    "rail:dgx-a100*2x3/4", "ring:5*3", "rail:mesh:4*2"));

TEST(Machines, AreAllInTheList) {
  for (const MachineEntry& entry : machine_list()) {
    const std::string_view name = entry.name.substr(0, entry.name.find(':'));
    EXPECT_TRUE(names_machine(name)) << entry.name;
    EXPECT_FALSE(entry.idea.empty());
  }
  EXPECT_EQ(machine_list().size(), 14u);
}

// NVLinks (xGMI links) of each rank together, from the vendors' figures.
TEST(Machines, GiveEachDeviceTheLinksItHas) {
  struct Expected {
    const char* name;
    uint32_t num_ranks;
    LinkClass link_class;
    double gbps;
  };
  for (const Expected& expected : {Expected{"dgx-1p", 8, LinkClass::kNvlink, 4 * 20},
                                   {"dgx-1v", 8, LinkClass::kNvlink, 6 * 25},
                                   {"ndv2", 8, LinkClass::kNvlink, 6 * 25},
                                   {"dgx-2", 16, LinkClass::kNvlink, 150},
                                   {"dgx-a100", 8, LinkClass::kNvlink, 300},
                                   {"dgx-h100", 8, LinkClass::kNvlink, 450},
                                   {"nvl72", 72, LinkClass::kNvlink, 900 + 225},
                                   {"mi250x", 16, LinkClass::kXgmi, 7 * 50},
                                   {"mi300x", 8, LinkClass::kXgmi, 448}}) {
    const Topology topology = machine(expected.name);
    ASSERT_EQ(topology.num_ranks(), expected.num_ranks) << expected.name;
    for (uint32_t rank = 0; rank < topology.num_ranks(); ++rank) {
      EXPECT_EQ(total(topology, Rank(rank), expected.link_class), expected.gbps)
          << expected.name << " rank " << rank;
    }
  }
}

TEST(Machines, PutNvl72OnOneCrossbarOf900) {
  const Topology topology = machine("nvl72");
  for (const NodeId gpu : topology.ranks) {
    EXPECT_EQ(gbps_between(topology, topology.nodes[gpu.value].name, "nvswitch"), 900);
  }
  EXPECT_EQ(gbps_between(topology, "cpu0", "cpu1"), 40);
  EXPECT_EQ(gbps_between(topology, "cpu1", "cpu2"), 0);
}

uint32_t nvlinks(const Topology& topology, uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(
      gbps_between(topology, fmt::format("gpu{}", a), fmt::format("gpu{}", b)) / 25);
}

TEST(Dgx1v, HasTheDoubleAndTheSingleRing) {
  const Topology topology = machine("dgx-1v");
  const std::array<uint32_t, 8> twice = {0, 3, 2, 1, 5, 6, 7, 4};
  const std::array<uint32_t, 8> once = {0, 2, 6, 4, 5, 7, 3, 1};
  uint32_t num_links = 0;
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(nvlinks(topology, twice[i], twice[(i + 1) % 8]), 2u);
    EXPECT_EQ(nvlinks(topology, once[i], once[(i + 1) % 8]), 1u);
    for (uint32_t j = 0; j < 8; ++j) {
      if (j != i) num_links += nvlinks(topology, static_cast<uint32_t>(i), j);
    }
  }
  EXPECT_EQ(num_links, 8u * 6);  // the two rings are all there is
}

// The matrix of the msccl tools, in their order of GPUs.
TEST(Dgx1v, IsTheMscclMatrixRenumbered) {
  constexpr std::array<std::array<uint32_t, 8>, 8> kMsccl = {{{0, 2, 1, 1, 2, 0, 0, 0},
                                                              {2, 0, 1, 2, 0, 1, 0, 0},
                                                              {1, 1, 0, 2, 0, 0, 2, 0},
                                                              {1, 2, 2, 0, 0, 0, 0, 1},
                                                              {2, 0, 0, 0, 0, 2, 1, 1},
                                                              {0, 1, 0, 0, 2, 0, 1, 2},
                                                              {0, 0, 2, 0, 1, 1, 0, 2},
                                                              {0, 0, 0, 1, 1, 2, 2, 0}}};
  constexpr std::array<uint32_t, 8> kToOurs = {0, 3, 1, 2, 4, 7, 5, 6};
  const Topology topology = machine("dgx-1v");
  for (size_t a = 0; a < 8; ++a) {
    for (size_t b = 0; b < 8; ++b) {
      if (a == b) continue;
      EXPECT_EQ(nvlinks(topology, kToOurs[a], kToOurs[b]), kMsccl[a][b]) << a << " " << b;
    }
  }
}

TEST(Dgx1p, JoinsTheSamePairsWithOneLinkEach) {
  const Topology pascal = machine("dgx-1p");
  const Topology volta = machine("dgx-1v");
  for (uint32_t a = 0; a < 8; ++a) {
    for (uint32_t b = 0; b < 8; ++b) {
      if (a == b) continue;
      const double gbps = gbps_between(pascal, fmt::format("gpu{}", a), fmt::format("gpu{}", b));
      EXPECT_EQ(gbps, nvlinks(volta, a, b) > 0 ? 20 : 0);
    }
  }
}

size_t count_nics(const Topology& topology) {
  size_t count = 0;
  for (const Node& node : topology.nodes) count += node.kind == NodeKind::kNic ? 1 : 0;
  return count;
}

TEST(Machines, HaveTheNicsTheyAreSoldWith) {
  EXPECT_EQ(count_nics(machine("dgx-1p")), 4u);
  EXPECT_EQ(count_nics(machine("dgx-1v")), 4u);
  EXPECT_EQ(count_nics(machine("ndv2")), 1u);
  EXPECT_EQ(count_nics(machine("dgx-2")), 8u);
  EXPECT_EQ(count_nics(machine("dgx-a100")), 8u);
  EXPECT_EQ(count_nics(machine("dgx-h100")), 8u);
  EXPECT_EQ(count_nics(machine("nvl72")), 72u);
  EXPECT_EQ(count_nics(machine("mi250x")), 8u);
  EXPECT_EQ(count_nics(machine("mi300x")), 8u);
  EXPECT_EQ(gbps_between(machine("ndv2"), "nic0", "pcie0"), 12.5);
  EXPECT_EQ(gbps_between(machine("dgx-h100"), "nic7", "pcie7"), 50);
}

TEST(Mi250x, JoinsItsDiesAsTheVendorDoes) {
  const Topology topology = machine("mi250x");
  EXPECT_EQ(gbps_between(topology, "gcd0", "gcd1"), 200);
  EXPECT_EQ(gbps_between(topology, "gcd4", "gcd0"), 100);
  EXPECT_EQ(gbps_between(topology, "gcd10", "gcd1"), 50);
  EXPECT_EQ(gbps_between(topology, "gcd0", "gcd15"), 0);
}

// The time of one hop is the wire's latency, whichever nodes stand between.
TEST(Shapes, CostOneLatencyBetweenNeighbours) {
  for (const char* name : {"ring:5@10GB/s,300ns", "torus:3x3@10GB/s,300ns", "mesh:4@10GB/s,300ns",
                           "switch:4@10GB/s,300ns"}) {
    const Topology topology = machine(name);
    Router router(topology);
    double latency = 0;
    double width = 1e9;
    const auto route = router.route(Rank(0), Rank(1)).value();
    for (const LinkId id : route) {
      latency += topology.links[id.value].latency_ns;
      width = std::min(width, topology.links[id.value].gbps);
    }
    EXPECT_EQ(latency, 300) << name;
    EXPECT_EQ(width, 10) << name;
    EXPECT_EQ(topology.nodes[0].reduce_gbps, 0) << name;
  }
}

TEST(Shapes, TakeFiguresInEitherOrderAndUnit) {
  EXPECT_EQ(machine("mesh:2@200Gb/s").links[0].gbps, 25);
  EXPECT_EQ(machine("mesh:2@200Gb/s").links[0].latency_ns, 700);
  EXPECT_EQ(machine("mesh:2@1.5us").links[0].latency_ns, 1500);
  EXPECT_EQ(machine("mesh:2@0ns,4GB/s").links[0].latency_ns, 0);
  EXPECT_EQ(machine("mesh:2@0ns,4GB/s").links[0].gbps, 4);
}

TEST(Shapes, WrapTheTorusAround) {
  const Topology topology = machine("torus:3x4");
  EXPECT_EQ(gbps_between(topology, "router0", "router3"), 25);
  EXPECT_EQ(gbps_between(topology, "router0", "router8"), 25);
  EXPECT_EQ(gbps_between(topology, "router0", "router5"), 0);
  EXPECT_EQ(gbps_between(topology, "dev0", "router0"), 100);
  EXPECT_EQ(gbps_between(machine("torus:2x2"), "router0", "router1"), 25);
  EXPECT_EQ(gbps_between(machine("ring:2"), "router0", "router1"), 25);
  EXPECT_EQ(gbps_between(machine("ring:2"), "dev0", "router0"), 25);
}

TEST(Shapes, EndTheGridAtItsEdges) {
  const Topology topology = machine("grid:3x4");
  EXPECT_EQ(topology.num_ranks(), 12u);
  EXPECT_EQ(gbps_between(topology, "router0", "router1"), 25);
  EXPECT_EQ(gbps_between(topology, "router1", "router0"), 25);
  EXPECT_EQ(gbps_between(topology, "router4", "router8"), 25);
  EXPECT_EQ(gbps_between(topology, "router0", "router3"), 0);
  EXPECT_EQ(gbps_between(topology, "router0", "router8"), 0);
  EXPECT_EQ(gbps_between(topology, "router3", "router4"), 0);
  EXPECT_EQ(gbps_between(topology, "dev0", "router0"), 50);
  EXPECT_EQ(gbps_between(topology, "dev1", "router1"), 75);
  EXPECT_EQ(gbps_between(topology, "dev5", "router5"), 100);
  EXPECT_EQ(machine("grid:2x2x2").name, "grid:2x2x2");
}

void expect_machine_refused(const std::string& name, ErrorCode code, const std::string& message) {
  const auto result = make_machine(name);
  ASSERT_FALSE(result) << name;
  EXPECT_EQ(result.error().code, code) << name;
  EXPECT_EQ(result.error().message, message);
}

TEST(Machines, RefuseUnknownNamesWithAHintAndAList) {
  const std::string list =
      " There are: dgx-1p, dgx-1v, ndv2, dgx-2, dgx-a100, dgx-h100, nvl72, mi250x, mi300x, ring:N, "
      "torus:AxB[xC], grid:AxB[xC], mesh:N, switch:N";
  expect_machine_refused("dgx-a10", ErrorCode::kNotFound,
                         "no machine 'dgx-a10'; did you mean dgx-a100?" + list);
  expect_machine_refused("rng:8", ErrorCode::kNotFound,
                         "no machine 'rng:8'; did you mean ring?" + list);
  expect_machine_refused("cray", ErrorCode::kNotFound, "no machine 'cray'." + list);
  expect_machine_refused("", ErrorCode::kNotFound, "no machine ''." + list);
}

TEST(Shapes, RefuseSizesAndFiguresThatCannotBe) {
  const auto code = ErrorCode::kInvalidArgument;
  expect_machine_refused("ring", code, "ring needs a size, as in ring:8");
  expect_machine_refused("ring:", code, "'' is no size: 1 to 100000 devices, as in ring:8");
  expect_machine_refused("ring:0", code, "'0' is no size: 1 to 100000 devices, as in ring:8");
  expect_machine_refused("ring:-3", code, "'-3' is no size: 1 to 100000 devices, as in ring:8");
  expect_machine_refused("ring:4x4", code, "'4x4' is no size: 1 to 100000 devices, as in ring:8");
  expect_machine_refused("ring:99999999999", code,
                         "'99999999999' is no size: 1 to 100000 devices, as in ring:8");
  expect_machine_refused("grid:0x4", code,
                         "'0x4' is no size: 1 to 100000 devices, as in grid:4x4 or grid:2x3x4");
  expect_machine_refused("torus:4x0", code,
                         "'4x0' is no size: 1 to 100000 devices, as in torus:4x4 or torus:2x3x4");
  expect_machine_refused(
      "torus:65536x65536", code,
      "'65536x65536' is no size: 1 to 100000 devices, as in torus:4x4 or torus:2x3x4");
  expect_machine_refused("mesh:2000", code,
                         "mesh:2000: at most 1024 devices, as every two are joined");
  for (const std::string figure : {"25", "25GB", "0GB/s", "-1ns", "xns", "infGB/s", ""}) {
    expect_machine_refused("ring:8@" + figure, code,
                           "'" + figure +
                               "' is no rate above zero and no latency; write for example "
                               "@25GB/s,700ns (GB/s, Gb/s; ns, us)");
  }
}

}  // namespace
}  // namespace tutti::topo
