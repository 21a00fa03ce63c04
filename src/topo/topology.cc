#include "topo/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/invalid.h"
#include "base/try.h"

namespace tutti::topo {
namespace {

constexpr std::array<std::string_view, 4> kKindNames = {"device", "switch", "nic", "host"};
constexpr std::array<std::string_view, 7> kClassNames = {"nvlink",  "xgmi",   "pcie", "socket",
                                                         "network", "memory", "other"};
constexpr size_t kMaxNameBytes = 64;

template <class Enum, size_t N>
std::optional<Enum> find(const std::array<std::string_view, N>& names, std::string_view text) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

// False for NaN too.
bool is_figure(double value) { return value >= 0 && value <= kMaxFigure; }

Status check_nodes(const Topology& topology) {
  std::unordered_map<std::string_view, size_t> seen;
  seen.reserve(topology.nodes.size());
  for (size_t i = 0; i < topology.nodes.size(); ++i) {
    const Node& node = topology.nodes[i];
    if (!is_valid_name(node.name)) {
      return invalid(
          fmt::format("node {} has the name '{}': a name is 1 to {} visible ASCII characters, none "
                      "of ~ = , \\ \"",
                      i, node.name.substr(0, kMaxNameBytes), kMaxNameBytes));
    }
    const auto [first, is_new] = seen.emplace(node.name, i);
    if (!is_new) {
      return invalid(
          fmt::format("nodes {} and {} are both named '{}'", first->second, i, node.name));
    }
    if (node.machine >= kMaxNodes) {
      return invalid(
          fmt::format("node '{}': machine {} is not below {}", node.name, node.machine, kMaxNodes));
    }
    if (!is_figure(node.reduce_gbps)) {
      return invalid(fmt::format("node '{}': reduce_gbps {} is not a rate; 0 means free", node.name,
                                 node.reduce_gbps));
    }
  }
  return {};
}

Status check_links(const Topology& topology) {
  const size_t num_nodes = topology.nodes.size();
  for (size_t i = 0; i < topology.links.size(); ++i) {
    const Link& link = topology.links[i];
    if (link.from.value >= num_nodes || link.to.value >= num_nodes) {
      return invalid(fmt::format("link {} joins nodes {} and {}, but there are only {} nodes", i,
                                 link.from.value, link.to.value, num_nodes));
    }
    const std::string& from = topology.nodes[link.from.value].name;
    const std::string& to = topology.nodes[link.to.value].name;
    if (link.from == link.to) return invalid(fmt::format("link {} joins '{}' to itself", i, from));
    if (!is_figure(link.gbps) || link.gbps == 0) {
      return invalid(fmt::format(
          "link {} from '{}' to '{}': its rate of {} GB/s is not above zero and at most 1e12", i,
          from, to, link.gbps));
    }
    if (!is_figure(link.latency_ns)) {
      return invalid(
          fmt::format("link {} from '{}' to '{}': its latency of {} ns is not from 0 to 1e12", i,
                      from, to, link.latency_ns));
    }
  }
  return {};
}

Status check_ranks(const Topology& topology) {
  for (size_t rank = 0; rank < topology.ranks.size(); ++rank) {
    const NodeId id = topology.ranks[rank];
    if (id.value >= topology.nodes.size()) {
      return invalid(fmt::format("rank {} is on node {}, but there are only {} nodes", rank,
                                 id.value, topology.nodes.size()));
    }
    const Node& node = topology.nodes[id.value];
    if (node.kind != NodeKind::kDevice) {
      return invalid(fmt::format("rank {} is on '{}', a {}; ranks are on devices", rank, node.name,
                                 to_string(node.kind)));
    }
  }
  return {};
}

}  // namespace

std::string_view to_string(NodeKind kind) noexcept { return kKindNames[static_cast<size_t>(kind)]; }

std::string_view to_string(LinkClass link_class) noexcept {
  return kClassNames[static_cast<size_t>(link_class)];
}

std::optional<NodeKind> parse_node_kind(std::string_view text) noexcept {
  return find<NodeKind>(kKindNames, text);
}

std::optional<LinkClass> parse_link_class(std::string_view text) noexcept {
  return find<LinkClass>(kClassNames, text);
}

bool is_valid_name(std::string_view name) noexcept {
  if (name.empty() || name.size() > kMaxNameBytes) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return c > ' ' && c < '\x7f' && std::string_view("~=,\"\\").find(c) == std::string_view::npos;
  });
}

Status check(const Topology& topology) {
  const auto is_printable = [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; };
  if (!std::all_of(topology.name.begin(), topology.name.end(), is_printable)) {
    return invalid("the topology's name is not printable ASCII without quote and backslash");
  }
  if (topology.nodes.size() > kMaxNodes || topology.links.size() > kMaxLinks) {
    return invalid(fmt::format("{} nodes and {} links: at most {} and {} are served",
                               topology.nodes.size(), topology.links.size(), kMaxNodes, kMaxLinks));
  }
  TUTTI_TRY(check_nodes(topology));
  TUTTI_TRY(check_links(topology));
  return check_ranks(topology);
}

std::optional<NodeId> find_node(const Topology& topology, std::string_view name) {
  for (size_t i = 0; i < topology.nodes.size(); ++i) {
    if (topology.nodes[i].name == name) return NodeId(static_cast<uint32_t>(i));
  }
  return std::nullopt;
}

}  // namespace tutti::topo
