#include "topo/cluster.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/invalid.h"
#include "base/try.h"
#include "topo/figures.h"
#include "topo/parse.h"

namespace tutti::topo {
namespace {

constexpr double kDefaultNicGbps = 25;  // 200 Gb/s
constexpr std::string_view kExample =
    "write for example dgx-a100*4, dgx-a100*4x8/2, rail:dgx-h100*4";

// A NIC and what it brings to the network.
struct Port {
  NodeId nic;
  double gbps = 0;
};

std::vector<Port> find_ports(const Topology& machine) {
  std::vector<Port> ports;
  std::vector<double> fastest(machine.nodes.size());
  for (const Link& link : machine.links) {
    fastest[link.from.value] = std::max(fastest[link.from.value], link.gbps);
  }
  for (uint32_t i = 0; i < machine.nodes.size(); ++i) {
    const bool is_linked_nic = machine.nodes[i].kind == NodeKind::kNic && fastest[i] > 0;
    if (is_linked_nic) ports.push_back({NodeId(i), fastest[i]});
  }
  return ports;
}

void add_missing_nics(Topology& machine) {
  const std::vector<NodeId> ranks = machine.ranks;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const NodeId nic = add_node(machine, NodeKind::kNic, fmt::format("nic{}", i));
    connect(machine, ranks[i], nic, {LinkClass::kPcie, kDefaultNicGbps, kPcieNs});
  }
}

Status check_shape(const Topology& machine, const ClusterShape& shape) {
  if (shape.machines_per_leaf == 0 || shape.num_leaves == 0) {
    return invalid(fmt::format("a cluster has at least one machine; {}", kExample));
  }
  if (!(shape.oversubscription > 0) || shape.oversubscription > 1000) {
    return invalid(
        fmt::format("oversubscription {} is not above 0 and at most 1000", shape.oversubscription));
  }
  const bool has_uplinks = shape.wiring == Wiring::kRails || shape.num_leaves > 1;
  if (shape.oversubscription != 1 && !has_uplinks) {
    return invalid(
        fmt::format("one switch has no uplinks to oversubscribe: give machines per leaf and "
                    "leaves, as in *{}x2/{}",
                    shape.machines_per_leaf, shape.oversubscription));
  }
  const uint64_t num_machines = uint64_t{shape.machines_per_leaf} * shape.num_leaves;
  const uint64_t spare = 2 * machine.ranks.size() + 2;  // NICs that may be missing, the network
  if (num_machines > kMaxNodes || num_machines * (machine.nodes.size() + spare) > kMaxNodes ||
      num_machines * (machine.links.size() + 2 * spare) > kMaxLinks) {
    return invalid(fmt::format("{} machines of {} nodes: more than {} nodes or {} links",
                               num_machines, machine.nodes.size(), kMaxNodes, kMaxLinks));
  }
  return {};
}

// Copies the machine into the cluster; returns by how much its node numbers moved.
uint32_t add_machine(Topology& cluster, const Topology& machine, uint32_t number,
                     uint32_t machines_inside) {
  const uint32_t base = static_cast<uint32_t>(cluster.nodes.size());
  for (const Node& node : machine.nodes) {
    cluster.nodes.push_back(node);
    cluster.nodes.back().name = fmt::format("node{}/{}", number, node.name);
    cluster.nodes.back().machine = number * machines_inside + node.machine;
  }
  for (const Link& link : machine.links) {
    cluster.links.push_back(link);
    cluster.links.back().from.value += base;
    cluster.links.back().to.value += base;
  }
  for (const NodeId rank : machine.ranks) cluster.ranks.push_back(NodeId(rank.value + base));
  return base;
}

// The switches of one leaf: one for all ports, or one for each.
std::vector<NodeId> add_leaf(Topology& cluster, const ClusterShape& shape, uint32_t leaf,
                             size_t num_ports) {
  std::vector<NodeId> switches;
  if (shape.wiring == Wiring::kFatTree) {
    const auto name = shape.num_leaves == 1 ? "fabric" : fmt::format("leaf{}", leaf);
    switches.assign(num_ports, add_node(cluster, NodeKind::kSwitch, name));
    return switches;
  }
  const auto prefix = shape.num_leaves == 1 ? "" : fmt::format("leaf{}/", leaf);
  for (size_t i = 0; i < num_ports; ++i) {
    switches.push_back(add_node(cluster, NodeKind::kSwitch, fmt::format("{}rail{}", prefix, i)));
  }
  return switches;
}

void add_uplinks(Topology& cluster, const ClusterShape& shape, const std::vector<Port>& ports,
                 const std::vector<NodeId>& switches, NodeId spine) {
  for (size_t i = 0; i < switches.size(); ++i) {
    if (i > 0 && switches[i] == switches[i - 1]) continue;  // one switch for all ports
    double below = 0;
    for (size_t port = 0; port < ports.size(); ++port) {
      if (switches[port] == switches[i]) below += shape.machines_per_leaf * ports[port].gbps;
    }
    connect(cluster, switches[i], spine,
            {LinkClass::kNetwork, below / shape.oversubscription, kSpineNs});
  }
}

std::string cluster_name(const Topology& machine, const ClusterShape& shape) {
  std::string name = fmt::format("{}{}*{}", shape.wiring == Wiring::kRails ? "rail:" : "",
                                 machine.name, shape.machines_per_leaf);
  if (shape.num_leaves > 1) name += fmt::format("x{}", shape.num_leaves);
  if (shape.oversubscription != 1) name += fmt::format("/{}", shape.oversubscription);
  return name;
}

}  // namespace

Result<Topology> cluster(const Topology& machine, const ClusterShape& shape) {
  TUTTI_TRY(check_shape(machine, shape));
  Topology with_nics = machine;
  if (find_ports(machine).empty()) add_missing_nics(with_nics);
  const std::vector<Port> ports = find_ports(with_nics);
  uint32_t machines_inside = 1;
  for (const Node& node : machine.nodes)
    machines_inside = std::max(machines_inside, node.machine + 1);

  Topology result;
  result.name = cluster_name(machine, shape);
  std::vector<uint32_t> bases;
  const uint32_t num_machines = shape.machines_per_leaf * shape.num_leaves;
  for (uint32_t i = 0; i < num_machines; ++i) {
    bases.push_back(add_machine(result, with_nics, i, machines_inside));
  }
  const size_t first_of_network = result.nodes.size();
  const bool has_spine = shape.wiring == Wiring::kRails || shape.num_leaves > 1;
  const NodeId spine = has_spine ? add_node(result, NodeKind::kSwitch, "spine") : NodeId();
  for (uint32_t leaf = 0; leaf < shape.num_leaves; ++leaf) {
    const auto switches = add_leaf(result, shape, leaf, ports.size());
    for (uint32_t i = 0; i < shape.machines_per_leaf; ++i) {
      const uint32_t base = bases[leaf * shape.machines_per_leaf + i];
      for (size_t port = 0; port < ports.size(); ++port) {
        connect(result, NodeId(base + ports[port].nic.value), switches[port],
                network(ports[port].gbps));
      }
    }
    if (has_spine) add_uplinks(result, shape, ports, switches, spine);
  }
  for (size_t i = first_of_network; i < result.nodes.size(); ++i) {
    result.nodes[i].machine = num_machines * machines_inside;
  }
  TUTTI_TRY(check(result));
  return result;
}

Result<std::optional<ClusterText>> parse_cluster(std::string_view text) {
  constexpr std::string_view kRailPrefix = "rail:";
  ClusterText result;
  std::string_view rest = text;
  if (rest.starts_with(kRailPrefix)) {
    result.shape.wiring = Wiring::kRails;
    rest.remove_prefix(kRailPrefix.size());
  }
  const size_t star = rest.rfind('*');
  if (star == std::string_view::npos) {
    if (rest.size() == text.size()) return std::optional<ClusterText>();
    return invalid(fmt::format("'{}' does not say how many machines; {}", text, kExample));
  }
  result.machine = rest.substr(0, star);
  const auto parts = split(rest.substr(star + 1), '/');
  const auto counts = split(parts[0], 'x');
  const auto per_leaf = parse_uint32(counts[0]);
  const auto leaves = counts.size() > 1 ? parse_uint32(counts[1]) : 1;
  const auto over = parts.size() > 1 ? parse_decimal(parts[1]) : 1.0;
  if (!per_leaf || !leaves || !over || counts.size() > 2 || parts.size() > 2) {
    return invalid(
        fmt::format("'{}' is no count of machines; {}", rest.substr(star + 1), kExample));
  }
  result.shape.machines_per_leaf = *per_leaf;
  result.shape.num_leaves = *leaves;
  result.shape.oversubscription = *over;
  return std::optional<ClusterText>(result);
}

}  // namespace tutti::topo
