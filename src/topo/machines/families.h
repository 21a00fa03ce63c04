// The named machines, one maker each; machines.cc has the list of names. A file of this folder is a
// family. All number GPUs as nvidia-smi and rocm-smi do, and rank i is on GPU i.
#pragma once

#include <cstdint>
#include <vector>

#include "topo/build.h"

namespace tutti::topo::machines {

// A fabric of several parallel switches that does not block (NVSwitches) is one switch node, with a
// link per device at the rate of all its cables together: which of the parallel chips a packet
// takes is the hardware's affair and changes no rate. A NIC's link to its machine has the lesser
// rate of its port and its slot; cluster.h joins NICs to the network at that rate.
Topology dgx_1p();
Topology dgx_1v();
Topology ndv2();
Topology dgx_2();
Topology dgx_a100();
Topology dgx_h100();
Topology nvl72();
Topology mi250x();
Topology mi300x();

// Shapes of any size, at least 1 device. Devices of a ring, torus and grid each have a router
// beside them (a switch node), so that any two can talk: the router passes on what is not for its
// device. It costs nothing: no latency, and the rate of all its cables together.
Topology ring(uint32_t num_devices, const Wire& wire);
Topology torus(const std::vector<uint32_t>& sides, const Wire& wire);
// A torus without the way around.
Topology grid(const std::vector<uint32_t>& sides, const Wire& wire);
Topology mesh(uint32_t num_devices, const Wire& wire);
// The wire is from a device to the switch and back again: its latency is that of the whole way.
Topology crossbar(uint32_t num_devices, const Wire& wire);

}  // namespace tutti::topo::machines
