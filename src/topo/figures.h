// The figures that named machines and file readers share: GB/s (1e9 bytes) per direction, ns.
//
// Rates are what the line carries at best ("peak"); what NCCL plans with ("usable") is beside them.
// Latencies are one-way and per link. They come from published alpha-beta models where there is one
// and are otherwise nominal; `tutti topo probe` measures a real machine.
#pragma once

#include <cmath>

#include "topo/build.h"

namespace tutti::topo {

// --- NVLink, one link. Usable by NCCL: 18 (P100), 20 (V100, A100), 20.6 (H100), 40.1 (B200).
inline constexpr double kNvlink1Gbps = 20;
inline constexpr double kNvlink2Gbps = 25;
inline constexpr double kNvlink3Gbps = 25;
inline constexpr double kNvlink4Gbps = 25;
inline constexpr double kNvlink5Gbps = 50;
inline constexpr double kNvlinkGa102Gbps = 14.0625;  // A40, RTX A6000; usable 12
// GPU to GPU: TACCL's and TE-CCL's NVLink alpha, 0.7 us. Through an NVSwitch TE-CCL has half of it
// on either side.
inline constexpr double kNvlinkNs = 700;
inline constexpr double kNvswitchNs = 350;
// NVLink-C2C of a Grace superchip: 900 GB/s of both directions, taken as shared evenly by its two
// GPUs. Its latency is nominal.
inline constexpr double kC2cGbps = 225;
inline constexpr double kC2cNs = 250;

// --- xGMI, one link. Linux' amdgpu driver: 25 GT/s (MI250) and 32 GT/s (MI300X), 16 lanes.
inline constexpr double kXgmiMi250Gbps = 50;
inline constexpr double kXgmiMi300Gbps = 64;
inline constexpr double kXgmiNs = 700;  // nominal: as NVLink between GPUs

// --- PCIe. 15.75 for 8 GT/s x16; usable 12, and in proportion for later generations. Four links
// (GPU, switch, CPU, switch, GPU) make the 1 us that NCCL reckons for a short message over PCIe.
inline constexpr double kPcieNs = 250;

// The rate after line coding, rounded to 10 MB/s: 8b/10b up to 5 GT/s, 128b/130b above.
inline double pcie_gbps(double gigatransfers, double lanes) {
  const double coding = gigatransfers <= 5 ? 8.0 / 10 : 128.0 / 130;
  return std::round(gigatransfers * lanes / 8 * coding * 100) / 100;
}
inline Wire pcie(double gigatransfers, double lanes = 16) {
  return {LinkClass::kPcie, pcie_gbps(gigatransfers, lanes), kPcieNs};
}

// --- Between CPU sockets. Peer traffic gets far less than the line's peak, so these are NCCL's
// usable figures. The latency is nominal.
inline constexpr double kSocketBroadwellGbps = 6;
inline constexpr double kSocketSkylakeGbps = 10;
inline constexpr double kSocketSapphireGbps = 22;
inline constexpr double kSocketEmeraldGbps = 40;
inline constexpr double kSocketGraceGbps = 40;  // nominal: as the fastest above
inline constexpr double kSocketAmdGbps = 16;
inline constexpr double kSocketNs = 500;
inline Wire socket(double gbps) { return {LinkClass::kSocket, gbps, kSocketNs}; }

// --- Network. A NIC and its switch: two such links are the 1.3 us that TE-CCL has for InfiniBand,
// and with the PCIe on both ends 2.3 us from GPU to GPU; TACCL has 1.7 and 2.6.
inline constexpr double kNetworkNs = 650;
// From one switch to the next: nominal, a switch's port to port time and 20 m of fibre.
inline constexpr double kSpineNs = 250;
inline Wire network(double gbps) { return {LinkClass::kNetwork, gbps, kNetworkNs}; }

// How fast a device combines two operands: each result byte is two reads and a write of its memory,
// whose rate is the one the vendor gives. An upper limit: kernels that do it are somewhat slower.
inline double reduce_gbps(double memory_gbps) { return std::floor(memory_gbps / 3); }

}  // namespace tutti::topo
