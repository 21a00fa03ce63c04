// DGX-1 and its kin: eight GPUs on a hybrid cube mesh of NVLinks, four PCIe switches, two sockets.
// Pairs that no NVLink joins talk over PCIe and, across the halves, over the socket link.
//
// GPU numbers are nvidia-smi's. The DGX-1 matrix of the msccl tools is in another order: their GPU
// i is our GPU {0, 3, 1, 2, 4, 7, 5, 6}[i]; a test holds the two together.
#include <fmt/format.h>

#include <array>

#include "topo/figures.h"
#include "topo/machines/families.h"

namespace tutti::topo::machines {
namespace {

constexpr size_t kNumGpus = 8;
using LinkCounts = std::array<std::array<int, kNumGpus>, kNumGpus>;

// NVLinks between each pair of a DGX-1V, as `nvidia-smi topo -m` shows them. Six for each GPU: the
// ring 0-3-2-1-5-6-7-4 twice and the ring 0-2-6-4-5-7-3-1 once.
constexpr LinkCounts kCounts = {{{0, 1, 1, 2, 2, 0, 0, 0},
                                 {1, 0, 2, 1, 0, 2, 0, 0},
                                 {1, 2, 0, 2, 0, 0, 1, 0},
                                 {2, 1, 2, 0, 0, 0, 0, 1},
                                 {2, 0, 0, 0, 0, 1, 1, 2},
                                 {0, 2, 0, 0, 1, 0, 2, 1},
                                 {0, 0, 1, 0, 1, 2, 0, 2},
                                 {0, 0, 0, 1, 2, 1, 2, 0}}};

struct Dgx1Model {
  const char* name;
  double memory_gbps;
  double nvlink_gbps;
  bool has_double_links;  // a P100 has four NVLinks: the same pairs, one link each
  size_t num_nics;        // NIC i is on PCIe switch i
};

Topology make(const Dgx1Model& model) {
  Topology topology;
  topology.name = model.name;
  std::array<NodeId, kNumGpus> gpus;
  for (size_t i = 0; i < kNumGpus; ++i) {
    gpus[i] = add_rank(topology, fmt::format("gpu{}", i), reduce_gbps(model.memory_gbps));
  }
  for (size_t a = 0; a < kNumGpus; ++a) {
    for (size_t b = a + 1; b < kNumGpus; ++b) {
      const int count = model.has_double_links ? kCounts[a][b] : std::min(kCounts[a][b], 1);
      if (count == 0) continue;
      connect(topology, gpus[a], gpus[b],
              {LinkClass::kNvlink, count * model.nvlink_gbps, kNvlinkNs});
    }
  }
  const NodeId sockets[] = {add_node(topology, NodeKind::kHost, "cpu0"),
                            add_node(topology, NodeKind::kHost, "cpu1")};
  connect(topology, sockets[0], sockets[1], socket(kSocketBroadwellGbps));
  for (size_t i = 0; i < kNumGpus / 2; ++i) {
    const NodeId plx = add_node(topology, NodeKind::kSwitch, fmt::format("pcie{}", i));
    connect(topology, plx, sockets[i / 2], pcie(8));
    connect(topology, gpus[2 * i], plx, pcie(8));
    connect(topology, gpus[2 * i + 1], plx, pcie(8));
    if (i >= model.num_nics) continue;
    const NodeId nic = add_node(topology, NodeKind::kNic, fmt::format("nic{}", i));
    connect(topology, nic, plx, {LinkClass::kPcie, 12.5, kPcieNs});  // 100 Gb/s; usable 12
  }
  return topology;
}

}  // namespace

Topology dgx_1p() { return make({"dgx-1p", 732, kNvlink1Gbps, false, 4}); }

Topology dgx_1v() { return make({"dgx-1v", 900, kNvlink2Gbps, true, 4}); }

// Azure's NDv2 has one NIC for all eight GPUs. TACCL reckons with 9.52 GB/s of it.
Topology ndv2() { return make({"ndv2", 900, kNvlink2Gbps, true, 1}); }

}  // namespace tutti::topo::machines
