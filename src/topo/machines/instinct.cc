// AMD Instinct nodes: GPUs joined by xGMI without a switch. Pairs that no xGMI link joins talk over
// PCIe and the sockets, as nothing passes through a device.
#include <fmt/format.h>

#include <array>

#include "topo/figures.h"
#include "topo/machines/families.h"

namespace tutti::topo::machines {
namespace {

struct Peer {
  uint32_t gcd;
  int count;
};

// xGMI links of each of the 16 dies (GCDs) of an eight-module MI250X node; seven for each die, four
// of them to the other die of its module. A pair stands once, with the lower die.
const std::array<std::vector<Peer>, 16> kMi250xLinks = {{{{1, 4}, {4, 2}, {8, 1}},
                                                         {{5, 1}, {9, 1}, {10, 1}},
                                                         {{3, 4}, {6, 1}, {9, 1}, {10, 1}},
                                                         {{7, 2}, {11, 1}},
                                                         {{5, 4}, {6, 1}},
                                                         {{6, 1}, {7, 1}},
                                                         {{7, 4}},
                                                         {},
                                                         {{9, 4}, {12, 2}},
                                                         {{13, 1}},
                                                         {{11, 4}, {14, 1}},
                                                         {{15, 2}},
                                                         {{13, 4}, {14, 1}},
                                                         {{14, 1}, {15, 1}},
                                                         {{15, 4}},
                                                         {}}};

// PCIe switches of so many GPUs and one NIC, half of them on each of two sockets.
void add_instinct_pcie(Topology& topology, uint32_t gpus_per_switch, const Wire& wire,
                       double nic_gbps) {
  const NodeId sockets[] = {add_node(topology, NodeKind::kHost, "cpu0"),
                            add_node(topology, NodeKind::kHost, "cpu1")};
  connect(topology, sockets[0], sockets[1], socket(kSocketAmdGbps));
  const uint32_t num_switches = topology.num_ranks() / gpus_per_switch;
  for (uint32_t i = 0; i < num_switches; ++i) {
    const NodeId plx = add_node(topology, NodeKind::kSwitch, fmt::format("pcie{}", i));
    connect(topology, plx, sockets[i / (num_switches / 2)], wire);
    for (uint32_t g = 0; g < gpus_per_switch; ++g) {
      connect(topology, topology.ranks[i * gpus_per_switch + g], plx, wire);
    }
    const NodeId nic = add_node(topology, NodeKind::kNic, fmt::format("nic{}", i));
    connect(topology, nic, plx, {LinkClass::kPcie, nic_gbps, kPcieNs});
  }
}

}  // namespace

// Each die is a GPU to its programs and a rank here. TE-CCL has a 200 Gb/s NIC for the two dies of
// a module; ForestColl's model of the same node has 16 GB/s for each die.
Topology mi250x() {
  Topology topology;
  topology.name = "mi250x";
  for (size_t i = 0; i < kMi250xLinks.size(); ++i) {
    add_rank(topology, fmt::format("gcd{}", i), reduce_gbps(3276.0 / 2));
  }
  for (uint32_t a = 0; a < kMi250xLinks.size(); ++a) {
    for (const Peer& peer : kMi250xLinks[a]) {
      connect(topology, topology.ranks[a], topology.ranks[peer.gcd],
              {LinkClass::kXgmi, peer.count * kXgmiMi250Gbps, kXgmiNs});
    }
  }
  add_instinct_pcie(topology, 2, pcie(16), 25);
  return topology;
}

// Seven xGMI links to each GPU, one to each other; a 400 Gb/s NIC for each.
Topology mi300x() {
  Topology topology;
  topology.name = "mi300x";
  for (uint32_t i = 0; i < 8; ++i) {
    add_rank(topology, fmt::format("gpu{}", i), reduce_gbps(5300));
  }
  for (uint32_t a = 0; a < 8; ++a) {
    for (uint32_t b = a + 1; b < 8; ++b) {
      connect(topology, topology.ranks[a], topology.ranks[b],
              {LinkClass::kXgmi, kXgmiMi300Gbps, kXgmiNs});
    }
  }
  add_instinct_pcie(topology, 1, pcie(32), 50);
  return topology;
}

}  // namespace tutti::topo::machines
