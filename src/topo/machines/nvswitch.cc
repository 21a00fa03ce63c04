// NVIDIA's machines whose GPUs all hang on one NVSwitch fabric: DGX-2, DGX A100, DGX H100, NVL72.
#include <fmt/format.h>

#include "topo/figures.h"
#include "topo/machines/families.h"

namespace tutti::topo::machines {
namespace {

struct Model {
  const char* name;
  uint32_t num_gpus;
  double memory_gbps;
  double nvlink_gbps;  // all links of a GPU together
};

// GPUs on one crossbar; what lies behind them is the caller's.
Topology gpus_on_nvswitch(const Model& model) {
  Topology topology;
  topology.name = model.name;
  for (uint32_t i = 0; i < model.num_gpus; ++i) {
    add_rank(topology, fmt::format("gpu{}", i), reduce_gbps(model.memory_gbps));
  }
  const NodeId crossbar = add_node(topology, NodeKind::kSwitch, "nvswitch");
  for (const NodeId gpu : topology.ranks) {
    connect(topology, gpu, crossbar, {LinkClass::kNvlink, model.nvlink_gbps, kNvswitchNs});
  }
  return topology;
}

struct PcieTree {
  Wire wire;
  uint32_t gpus_per_switch;    // with one NIC to each lower switch
  uint32_t switches_per_port;  // 1: no upper switch
  double nic_gbps;
  double socket_gbps;
};

// Two sockets, each with half of the GPUs in order.
void add_pcie(Topology& topology, const PcieTree& tree) {
  const uint32_t num_switches = topology.num_ranks() / tree.gpus_per_switch;
  const NodeId sockets[] = {add_node(topology, NodeKind::kHost, "cpu0"),
                            add_node(topology, NodeKind::kHost, "cpu1")};
  connect(topology, sockets[0], sockets[1], socket(tree.socket_gbps));
  NodeId port;
  for (uint32_t i = 0; i < num_switches; ++i) {
    const NodeId host = sockets[i / (num_switches / 2)];
    if (i % tree.switches_per_port == 0) {
      port = host;
      if (tree.switches_per_port > 1) {
        const auto name = fmt::format("root{}", i / tree.switches_per_port);
        port = add_node(topology, NodeKind::kSwitch, name);
        connect(topology, port, host, tree.wire);
      }
    }
    const NodeId lower = add_node(topology, NodeKind::kSwitch, fmt::format("pcie{}", i));
    connect(topology, lower, port, tree.wire);
    for (uint32_t g = 0; g < tree.gpus_per_switch; ++g) {
      connect(topology, topology.ranks[i * tree.gpus_per_switch + g], lower, tree.wire);
    }
    const NodeId nic = add_node(topology, NodeKind::kNic, fmt::format("nic{}", i));
    connect(topology, nic, lower, {LinkClass::kPcie, tree.nic_gbps, kPcieNs});
  }
}

}  // namespace

// 6 NVLink2 to each V100, 12 NVSwitches. TACCL reckons with 125 of the 150 GB/s. A 100 Gb/s NIC for
// each pair of GPUs.
Topology dgx_2() {
  Topology topology = gpus_on_nvswitch({"dgx-2", 16, 900, 6 * kNvlink2Gbps});
  add_pcie(topology, {pcie(8), 2, 2, 12.5, kSocketSkylakeGbps});
  return topology;
}

// 12 NVLink3 to each A100 (the 40 GB one), two to each of 6 NVSwitches; a 200 Gb/s NIC for each.
// Here GPU and NIC share a switch and two such switches a port, so that each GPU
// has a NIC nearest to it.
Topology dgx_a100() {
  Topology topology = gpus_on_nvswitch({"dgx-a100", 8, 1555, 12 * kNvlink3Gbps});
  add_pcie(topology, {pcie(16), 1, 2, 25, kSocketAmdGbps});
  return topology;
}

// 18 NVLink4 to each H100, 5+5+4+4 to the 4 NVSwitches; a 400 Gb/s NIC for each. The switches'
// multicast and reduction (NVLS) are not modelled.
Topology dgx_h100() {
  Topology topology = gpus_on_nvswitch({"dgx-h100", 8, 3350, 18 * kNvlink4Gbps});
  add_pcie(topology, {pcie(32), 1, 1, 50, kSocketSapphireGbps});
  return topology;
}

// GB200 NVL72: 18 NVLink5 to each B200, one to each of 18 NVSwitch chips. 18 trays of two Grace
// hosts, each with two GPUs on NVLink-C2C and two 400 Gb/s NICs. It counts as one machine, since
// its NVLink domain is one; traffic between trays has no other way.
Topology nvl72() {
  Topology topology = gpus_on_nvswitch({"nvl72", 72, 8000, 18 * kNvlink5Gbps});
  NodeId grace;
  for (uint32_t host = 0; host < 36; ++host) {
    const NodeId previous = grace;
    grace = add_node(topology, NodeKind::kHost, fmt::format("cpu{}", host));
    const bool is_second_of_tray = host % 2 == 1;
    if (is_second_of_tray) connect(topology, previous, grace, socket(kSocketGraceGbps));
    for (uint32_t i = 2 * host; i < 2 * host + 2; ++i) {
      connect(topology, topology.ranks[i], grace, {LinkClass::kNvlink, kC2cGbps, kC2cNs});
      const NodeId nic = add_node(topology, NodeKind::kNic, fmt::format("nic{}", i));
      connect(topology, nic, grace, {LinkClass::kPcie, 50, kPcieNs});
    }
  }
  return topology;
}

}  // namespace tutti::topo::machines
