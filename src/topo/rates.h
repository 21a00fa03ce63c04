// What can enter and leave devices and machines at best: sums over links, for lower bounds.
#pragma once

#include <cstdint>
#include <vector>

#include "topo/topology.h"

namespace tutti::topo {

struct Rates {
  // By rank: all links of its device together, of whatever class.
  std::vector<double> rank_egress_gbps;
  std::vector<double> rank_ingress_gbps;
  // By machine number: all links from or to nodes with another number. The switches between
  // machines have a number too.
  std::vector<double> machine_egress_gbps;
  std::vector<double> machine_ingress_gbps;
};

// One pass over the links. The topology must pass topo::check.
[[nodiscard]] Rates rates(const Topology& topology);

// What leaves the node over links of one class.
[[nodiscard]] double egress_gbps(const Topology& topology, NodeId node, LinkClass link_class);

// How many machines hold ranks.
[[nodiscard]] uint32_t num_machines(const Topology& topology);

}  // namespace tutti::topo
