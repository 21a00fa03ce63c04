#include "sim/lower_bound.h"

#include <gtest/gtest.h>

#include "tests/unit/sim/machines.h"

namespace tutti::sim {
namespace {

LowerBound bound_of(const Collective& collective, uint64_t bytes, const topo::Topology& topology) {
  const ir::Layout layout = ir::Layout::create(collective, 1).value();
  std::vector<double> gbps;
  for (const topo::Link& link : topology.links) gbps.push_back(link.gbps);
  return lower_bound(layout, ir::Sizes::even(layout, bytes), 1, topology, gbps);
}

Collective of(CollectiveKind kind, uint32_t num_ranks) {
  return {.kind = kind, .num_ranks = num_ranks, .root = 0, .peer = num_ranks - 1};
}

TEST(LowerBound, OfBandwidthIsWhatMustCrossTheBusiestDevice) {
  constexpr uint32_t p = 4;
  constexpr double n = 4000;
  const auto bandwidth = [&](CollectiveKind kind) {
    return bound_of(of(kind, p), 4000, star(p)).bandwidth_ns * kGbps;
  };
  EXPECT_DOUBLE_EQ(bandwidth(CollectiveKind::kAllReduce), 2 * n * (p - 1) / p);
  EXPECT_DOUBLE_EQ(bandwidth(CollectiveKind::kReduce), n);
  EXPECT_DOUBLE_EQ(bandwidth(CollectiveKind::kBroadcast), n);
  EXPECT_DOUBLE_EQ(bandwidth(CollectiveKind::kSendRecv), n);
  EXPECT_DOUBLE_EQ(bandwidth(CollectiveKind::kAllGather), n * (p - 1) / p);
  EXPECT_DOUBLE_EQ(bandwidth(CollectiveKind::kReduceScatter), n * (p - 1) / p);
  EXPECT_DOUBLE_EQ(bandwidth(CollectiveKind::kGather), n * (p - 1) / p);
  EXPECT_DOUBLE_EQ(bandwidth(CollectiveKind::kScatter), n * (p - 1) / p);
  EXPECT_DOUBLE_EQ(bandwidth(CollectiveKind::kAllToAll), n * (p - 1) / p);
  EXPECT_DOUBLE_EQ(bandwidth(CollectiveKind::kBarrier), 0);
}

TEST(LowerBound, OfLatencyIsTheLongestWayThatDataMustGo) {
  // A line 0 - 1 - 2 of devices: relaying is the only way from one end to the other.
  topo::Topology line;
  for (const char* name : {"a", "b", "c"}) add_rank(line, name, 0);
  connect(line, line.ranks[0], line.ranks[1], {.gbps = 1, .latency_ns = 100});
  connect(line, line.ranks[1], line.ranks[2], {.gbps = 1, .latency_ns = 30});
  EXPECT_EQ(bound_of(of(CollectiveKind::kAllReduce, 3), 30, line).latency_ns, 130);
  EXPECT_EQ(bound_of(of(CollectiveKind::kBarrier, 3), 0, line).latency_ns, 130);
  Collective broadcast = of(CollectiveKind::kBroadcast, 3);
  broadcast.root = 1;
  EXPECT_EQ(bound_of(broadcast, 30, line).latency_ns, 100);
  Collective gather = of(CollectiveKind::kGather, 3);
  gather.root = 2;
  EXPECT_EQ(bound_of(gather, 30, line).latency_ns, 130);
  EXPECT_EQ(bound_of(of(CollectiveKind::kAllReduce, 2), 30, line).latency_ns, 100);
}

TEST(LowerBound, OfNothingToDoIsNothing) {
  const LowerBound none = bound_of(of(CollectiveKind::kAllReduce, 4), 0, star(4));
  EXPECT_EQ(none.ns(), 0);
  EXPECT_EQ(none.kind(), BoundKind::kNone);
  EXPECT_EQ(bound_of(of(CollectiveKind::kAllReduce, 1), 1000, star(1)).ns(), 0);
}

TEST(LowerBound, OfAClusterIsSetByTheNetworkOfAMachine) {
  // Two machines of four ranks; each machine has one slow link each way to the network.
  topo::Topology cluster;
  const topo::NodeId network = add_node(cluster, topo::NodeKind::kSwitch, "network");
  cluster.nodes[0].machine = 2;
  for (uint32_t m = 0; m < 2; ++m) {
    const std::string name = "m" + std::to_string(m);
    const topo::NodeId inside = add_node(cluster, topo::NodeKind::kSwitch, name);
    cluster.nodes[inside.value].machine = m;
    for (uint32_t r = 0; r < 4; ++r) {
      const topo::NodeId device = add_rank(cluster, name + "/" + std::to_string(r), 0);
      cluster.nodes[device.value].machine = m;
      connect(cluster, device, inside, {.gbps = 100, .latency_ns = 1});
    }
    connect(cluster, inside, network, {.gbps = 2, .latency_ns = 10});
  }
  const LowerBound all_reduce = bound_of(of(CollectiveKind::kAllReduce, 8), 8000, cluster);
  EXPECT_DOUBLE_EQ(all_reduce.bandwidth_ns, 8000 / 2.0);
  EXPECT_EQ(all_reduce.cut, BoundCut::kMachine);
  EXPECT_EQ(all_reduce.kind(), BoundKind::kBandwidth);
  EXPECT_EQ(all_reduce.latency_ns, 22);
  const LowerBound gather = bound_of(of(CollectiveKind::kAllGather, 8), 8000, cluster);
  EXPECT_DOUBLE_EQ(gather.bandwidth_ns, 4000 / 2.0);
  const LowerBound all_to_all = bound_of(of(CollectiveKind::kAllToAll, 8), 8000, cluster);
  EXPECT_DOUBLE_EQ(all_to_all.bandwidth_ns, 4 * 4000 / 2.0);
  // Within a machine the network does not count.
  const LowerBound inside = bound_of(of(CollectiveKind::kAllReduce, 4), 8000, cluster);
  EXPECT_EQ(inside.cut, BoundCut::kAllDevices);
}

TEST(LowerBound, OfRanksOnOneDeviceCountsWhatLeavesTheDevice) {
  topo::Topology topology = star(2);
  topology.ranks = {topology.ranks[0], topology.ranks[0], topology.ranks[1], topology.ranks[1]};
  const LowerBound bound = bound_of(of(CollectiveKind::kAllGather, 4), 4000, topology);
  EXPECT_DOUBLE_EQ(bound.bandwidth_ns, 2000 / kGbps);
}

TEST(LowerBound, CountsOnlyBlocksThatHaveBytes) {
  const Collective collective = of(CollectiveKind::kAllGather, 3);
  const ir::Layout layout = ir::Layout::create(collective, 1).value();
  const ir::Sizes sizes = ir::Sizes::uneven(layout, {0, 0, 0}).value();
  const topo::Topology topology = star(3);
  const LowerBound bound =
      lower_bound(layout, sizes, 4, topology, std::vector<double>(topology.links.size(), kGbps));
  EXPECT_EQ(bound.ns(), 0);
}

}  // namespace
}  // namespace tutti::sim
