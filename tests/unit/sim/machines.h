// Small topologies with round figures, and short ways to simulate on them.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "ir/builder.h"
#include "sim/simulate.h"
#include "topo/build.h"

namespace tutti::sim {

inline constexpr double kAlpha = 500;  // ns of every link below
inline constexpr double kGbps = 8;     // bytes a ns

// Every two ranks have a link each way.
inline topo::Topology full_mesh(uint32_t num_ranks, double reduce_gbps = 0) {
  topo::Topology topology;
  topology.name = "mesh";
  for (uint32_t r = 0; r < num_ranks; ++r) {
    add_rank(topology, "dev" + std::to_string(r), reduce_gbps);
  }
  for (uint32_t a = 0; a < num_ranks; ++a) {
    for (uint32_t b = a + 1; b < num_ranks; ++b) {
      connect(topology, topology.ranks[a], topology.ranks[b],
              {.gbps = kGbps, .latency_ns = kAlpha});
    }
  }
  return topology;
}

// Every rank has a link to and one from a switch; the two links of a way have kAlpha together.
// Link 2 r is from rank r to the switch, 2 r + 1 back.
inline topo::Topology star(uint32_t num_ranks) {
  topo::Topology topology;
  topology.name = "star";
  for (uint32_t r = 0; r < num_ranks; ++r) add_rank(topology, "dev" + std::to_string(r), 0);
  const topo::NodeId center = add_node(topology, topo::NodeKind::kSwitch, "switch");
  for (uint32_t r = 0; r < num_ranks; ++r) {
    connect(topology, topology.ranks[r], center, {.gbps = kGbps, .latency_ns = kAlpha / 2});
  }
  return topology;
}

// What one message of so many bytes takes alone.
inline double message_ns(double bytes) { return kAlpha + bytes / kGbps; }

inline Report simulated(const ir::Schedule& schedule, const topo::Topology& topology,
                        const Options& options) {
  Result<Report> report = simulate(schedule, topology, options);
  EXPECT_TRUE(report) << report.error().message;
  return report ? *std::move(report) : Report{};
}

inline std::string error_of(const ir::Schedule& schedule, const topo::Topology& topology,
                            const Options& options) {
  const Result<Report> report = simulate(schedule, topology, options);
  return report ? "no error" : report.error().message;
}

}  // namespace tutti::sim
