// Small machines with known optima, and the two of TE-CCL's published figures, for tests of
// synthesis. Links are direct unless a switch is named.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "topo/build.h"
#include "topo/topology.h"

namespace tutti::test {

struct Wired {
  uint32_t from;
  uint32_t to;
  double gbps;
  double latency_ns;
  topo::LinkClass link_class = topo::LinkClass::kNvlink;
};

// `per_machine` consecutive ranks to a machine.
inline topo::Topology wired(uint32_t num_ranks, uint32_t per_machine,
                            const std::vector<Wired>& links) {
  topo::Topology topology;
  topology.name = "wired";
  for (uint32_t r = 0; r < num_ranks; ++r) {
    topology.nodes.push_back({.name = fmt::format("gpu{}", r), .machine = r / per_machine});
    topology.ranks.emplace_back(r);
  }
  for (const Wired& link : links) {
    topology.links.push_back({topo::NodeId(link.from), topo::NodeId(link.to), link.link_class,
                              link.gbps, link.latency_ns});
  }
  return topology;
}

// Every rank to the next, both ways.
inline topo::Topology two_way_ring(uint32_t num_ranks, double gbps, double latency_ns) {
  std::vector<Wired> links;
  for (uint32_t r = 0; r < num_ranks; ++r) {
    links.push_back({r, (r + 1) % num_ranks, gbps, latency_ns});
    if (num_ranks > 2) links.push_back({(r + 1) % num_ranks, r, gbps, latency_ns});
  }
  return wired(num_ranks, num_ranks, links);
}

inline topo::Topology complete(uint32_t num_ranks, double gbps, double latency_ns) {
  std::vector<Wired> links;
  for (uint32_t a = 0; a < num_ranks; ++a) {
    for (uint32_t b = 0; b < num_ranks; ++b) {
      if (a != b) links.push_back({a, b, gbps, latency_ns});
    }
  }
  return wired(num_ranks, num_ranks, links);
}

// Machines of `per_machine` ranks, all of a machine connected with each other; rank 0 of each sends
// to rank 1 of each other.
inline topo::Topology two_cliques(uint32_t per_machine, double gbps, double remote_gbps) {
  std::vector<Wired> links;
  for (uint32_t a = 0; a < 2 * per_machine; ++a) {
    for (uint32_t b = 0; b < 2 * per_machine; ++b) {
      if (a != b && a / per_machine == b / per_machine) links.push_back({a, b, gbps, 700});
    }
  }
  for (const uint32_t machine : {0u, 1u}) {
    links.push_back({machine * per_machine, (1 - machine) * per_machine + 1, remote_gbps, 1300,
                     topo::LinkClass::kNetwork});
    links.push_back({(1 - machine) * per_machine + 1, machine * per_machine, remote_gbps, 1300,
                     topo::LinkClass::kNetwork});
  }
  return wired(2 * per_machine, per_machine, links);
}

}  // namespace tutti::test
