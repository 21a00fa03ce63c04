// Topologies that nobody would build: cables at random, some of one direction only, rates and
// latencies far apart, switches that several ranks share, ranks on several machines.
#pragma once

#include <fmt/format.h>

#include <random>

#include "topo/build.h"
#include "topo/open.h"

namespace tutti::plan::synth {

inline topo::Topology machine(const std::string& name) { return topo::open(name).value(); }

// A ring of links of one direction makes it strongly connected.
inline topo::Topology random_topology(uint32_t num_ranks, std::mt19937_64& random) {
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  const auto wire = [&] {
    return topo::Wire{topo::LinkClass::kOther, 1.0 + below(50), 100.0 * below(20)};
  };
  topo::Topology topology;
  topology.name = "random";
  for (uint32_t r = 0; r < num_ranks; ++r) {
    topo::add_rank(topology, fmt::format("dev{}", r), below(2) * 100.0);
    topology.nodes.back().machine = below(2) == 0 ? 0 : r % 3;
  }
  for (uint32_t r = 0; r < num_ranks; ++r) {
    topo::add_link(topology, topo::NodeId{r}, topo::NodeId{(r + 1) % num_ranks}, wire());
  }
  for (uint32_t i = 0; i < below(2 * num_ranks); ++i) {
    const uint32_t a = below(num_ranks);
    const uint32_t b = below(num_ranks);
    if (a != b) topo::add_link(topology, topo::NodeId{a}, topo::NodeId{b}, wire());
  }
  for (uint32_t s = 0; s < below(3); ++s) {
    const topo::NodeId hub =
        topo::add_node(topology, topo::NodeKind::kSwitch, fmt::format("switch{}", s));
    for (uint32_t r = 0; r < num_ranks; ++r) {
      if (below(2) == 0) topo::connect(topology, topo::NodeId{r}, hub, wire());
    }
  }
  return topology;
}

}  // namespace tutti::plan::synth
