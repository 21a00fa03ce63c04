#include "topo/rates.h"

#include <algorithm>
#include <unordered_set>

namespace tutti::topo {

Rates rates(const Topology& topology) {
  uint32_t max_machine = 0;
  for (const Node& node : topology.nodes) max_machine = std::max(max_machine, node.machine);
  Rates result;
  result.machine_egress_gbps.resize(max_machine + 1);
  result.machine_ingress_gbps.resize(max_machine + 1);

  std::vector<double> out(topology.nodes.size());
  std::vector<double> in(topology.nodes.size());
  for (const Link& link : topology.links) {
    out[link.from.value] += link.gbps;
    in[link.to.value] += link.gbps;
    const uint32_t from = topology.nodes[link.from.value].machine;
    const uint32_t to = topology.nodes[link.to.value].machine;
    if (from == to) continue;
    result.machine_egress_gbps[from] += link.gbps;
    result.machine_ingress_gbps[to] += link.gbps;
  }
  for (const NodeId device : topology.ranks) {
    result.rank_egress_gbps.push_back(out[device.value]);
    result.rank_ingress_gbps.push_back(in[device.value]);
  }
  return result;
}

double egress_gbps(const Topology& topology, NodeId node, LinkClass link_class) {
  double sum = 0;
  for (const Link& link : topology.links) {
    if (link.from == node && link.link_class == link_class) sum += link.gbps;
  }
  return sum;
}

uint32_t num_machines(const Topology& topology) {
  std::unordered_set<uint32_t> machines;
  for (const NodeId device : topology.ranks) machines.insert(topology.nodes[device.value].machine);
  return static_cast<uint32_t>(machines.size());
}

}  // namespace tutti::topo
