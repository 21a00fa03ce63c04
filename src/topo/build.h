// The few verbs with which topologies are put together. Nothing is checked here: topo::check is
// called once on the whole.
#pragma once

#include <string>

#include "topo/topology.h"

namespace tutti::topo {

// What a cable is made of, whichever nodes it joins.
struct Wire {
  LinkClass link_class = LinkClass::kOther;
  double gbps = 0;  // per direction
  double latency_ns = 0;
};

inline NodeId add_node(Topology& topology, NodeKind kind, std::string name) {
  topology.nodes.push_back({std::move(name), kind});
  return NodeId(static_cast<uint32_t>(topology.nodes.size() - 1));
}

// A device, and the next rank on it.
inline NodeId add_rank(Topology& topology, std::string name, double reduce_gbps) {
  const NodeId device = add_node(topology, NodeKind::kDevice, std::move(name));
  topology.nodes[device.value].reduce_gbps = reduce_gbps;
  topology.ranks.push_back(device);
  return device;
}

inline void add_link(Topology& topology, NodeId from, NodeId to, const Wire& wire) {
  topology.links.push_back({from, to, wire.link_class, wire.gbps, wire.latency_ns});
}

// Both directions, one behind the other in topology.links.
inline void connect(Topology& topology, NodeId a, NodeId b, const Wire& wire) {
  add_link(topology, a, b, wire);
  add_link(topology, b, a, wire);
}

}  // namespace tutti::topo
