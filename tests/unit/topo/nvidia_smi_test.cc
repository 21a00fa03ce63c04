#include "topo/nvidia_smi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/topo/golden.h"
#include "tests/unit/topo/same.h"
#include "topo/router.h"

namespace tutti::topo {
namespace {

Topology golden_smi(const std::string& name) {
  return from_nvidia_smi(golden_text(name), name).value();
}

TEST(NvidiaSmi, ReadsNvlinksBetweenPairs) {
  const Topology topology = golden_smi("mesh.smi.txt");
  ASSERT_EQ(topology.num_ranks(), 4u);
  EXPECT_EQ(gbps_between(topology, "gpu0", "gpu1"), 25);
  EXPECT_EQ(gbps_between(topology, "gpu2", "gpu0"), 50);
  EXPECT_EQ(gbps_between(topology, "gpu0", "gpu3"), 0);
  EXPECT_EQ(find_node(topology, "nvswitch"), std::nullopt);
}

// PIX: GPU0 and mlx5_0 share a switch. PXB: GPU1 is one more bridge away. PHB, NODE: on the host.
TEST(NvidiaSmi, BuildsThePcieTreeThatTheMatrixImplies) {
  const Topology topology = golden_smi("mesh.smi.txt");
  EXPECT_EQ(gbps_between(topology, "gpu0", "pcie0"), 15.75);
  EXPECT_EQ(gbps_between(topology, "mlx5_0", "pcie0"), 12.5);
  EXPECT_EQ(gbps_between(topology, "pcie0", "root0"), 15.75);
  EXPECT_EQ(gbps_between(topology, "gpu1", "root0"), 15.75);
  EXPECT_EQ(gbps_between(topology, "root0", "cpu0"), 15.75);
  EXPECT_EQ(gbps_between(topology, "gpu2", "cpu1"), 15.75);
  EXPECT_EQ(gbps_between(topology, "gpu3", "cpu1"), 15.75);
  EXPECT_EQ(gbps_between(topology, "mlx5_1", "cpu1"), 12.5);
  EXPECT_EQ(gbps_between(topology, "cpu0", "cpu1"), 10);
  EXPECT_EQ(topology.nodes.size(), 6u + 4);
}

TEST(NvidiaSmi, MakesOneCrossbarWhereAGpuWouldNeedTooManyLinks) {
  const Topology topology = golden_smi("nvswitch.smi.txt");
  ASSERT_EQ(topology.num_ranks(), 4u);
  for (const char* gpu : {"gpu0", "gpu1", "gpu2", "gpu3"}) {
    EXPECT_EQ(gbps_between(topology, gpu, "nvswitch"), 450);
  }
  EXPECT_EQ(gbps_between(topology, "gpu0", "gpu1"), 0);
  EXPECT_EQ(gbps_between(topology, "nic0", "pcie0"), 12.5);
  EXPECT_EQ(gbps_between(topology, "gpu1", "cpu0"), 15.75);  // NUMA affinity tells
}

TEST(NvidiaSmi, RoutesEveryPair) {
  for (const char* name : {"mesh.smi.txt", "nvswitch.smi.txt"}) {
    const Topology topology = golden_smi(name);
    Router router(topology);
    for (uint32_t from = 0; from < topology.num_ranks(); ++from) {
      for (uint32_t to = 0; to < topology.num_ranks(); ++to) {
        EXPECT_TRUE(router.route(Rank(from), Rank(to)));
      }
    }
  }
}

TEST(NvidiaSmi, ReadsAMachineWithOneGpu) {
  const std::string text = "\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0-15\t0\n";
  EXPECT_TRUE(looks_like_nvidia_smi(text));
  EXPECT_EQ(from_nvidia_smi(text, "t").value().num_ranks(), 1u);
}

TEST(NvidiaSmi, KnowsItsOwnByTheHeader) {
  EXPECT_TRUE(looks_like_nvidia_smi(golden_text("mesh.smi.txt")));
  EXPECT_FALSE(looks_like_nvidia_smi("GPU0  X  NV1\n"));
  EXPECT_FALSE(looks_like_nvidia_smi("hello\n"));
}

void expect_smi_refused(const std::string& text, const std::string& message) {
  const auto result = from_nvidia_smi(text, "t.txt");
  ASSERT_FALSE(result) << message;
  EXPECT_EQ(result.error().code, ErrorCode::kMalformed);
  EXPECT_EQ(result.error().message, message);
}

TEST(NvidiaSmi, IsRefusedWithTheLineTheRowAndTheColumn) {
  expect_smi_refused("hello\n", "t.txt:1: no header of GPUs (GPU0 GPU1 ...) in it");
  expect_smi_refused(
      "GPU0 GPU1\nGPU0 X NV1\nGPU1 XY X\n",
      "t.txt:3: row GPU1, column GPU0: 'XY' is none of X, PIX, PXB, PHB, NODE, SYS, NV1 to "
      "NV18");
  expect_smi_refused(
      "GPU0 GPU1\nGPU0 X NV99\n",
      "t.txt:2: row GPU0, column GPU1: 'NV99' is none of X, PIX, PXB, PHB, NODE, SYS, NV1 "
      "to NV18");
  expect_smi_refused("GPU0 GPU1\nGPU0 X NV1\nGPU1 NV1\n",
                     "t.txt:3: row GPU1, column GPU1: is missing");
  expect_smi_refused("GPU0 GPU1\nGPU0 X NV1\n", "t.txt:1: column GPU1: there is no row GPU1");
  expect_smi_refused("GPU0 GPU1\nGPU0 X NV1\nGPU0 X NV1\n",
                     "t.txt:3: row GPU0 is there already, on line 2");
  expect_smi_refused("GPU0 GPU1\nGPU0 X NV1\nGPU1 NV2 X\n",
                     "t.txt:3: row GPU1, column GPU0: differs from row GPU0, column GPU1");
  expect_smi_refused("GPU0 GPU0\n", "t.txt:1: column 2: GPU0 is there already");
  expect_smi_refused("GPU0 a~b\n", "t.txt:1: column 2: 'a~b' cannot name a device");
}

}  // namespace
}  // namespace tutti::topo
