#include "topo/variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/invalid.h"
#include "base/try.h"
#include "topo/parse.h"

namespace tutti::topo {
namespace {

Result<NodeId> demand_node(const Topology& topology, std::string_view name) {
  if (const auto node = find_node(topology, name)) return *node;
  std::string examples;
  for (size_t i = 0; i < std::min<size_t>(topology.nodes.size(), 4); ++i) {
    examples += fmt::format("{}{}", i == 0 ? "" : ", ", topology.nodes[i].name);
  }
  return Error{ErrorCode::kNotFound, fmt::format("{} has no node '{}'; its nodes are {}, ...",
                                                 topology.name, name, examples)};
}

// What a person who misremembers wants to see: the nodes that do have a link with this one.
std::string neighbours(const Topology& topology, NodeId node) {
  constexpr size_t kEnough = 8;
  std::string text;
  size_t count = 0;
  for (const Link& link : topology.links) {
    if (link.from != node || ++count > kEnough) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", topology.nodes[link.to.value].name);
  }
  return count > kEnough ? text + ", ..." : text;
}

}  // namespace

Result<Topology> subset(const Topology& topology, const std::vector<Rank>& ranks) {
  if (ranks.empty()) return invalid("a subset has at least one rank");
  Topology result = topology;
  result.ranks.clear();
  std::unordered_set<uint32_t> seen;
  for (const Rank rank : ranks) {
    if (rank.value >= topology.num_ranks()) {
      return invalid(fmt::format("rank {} does not exist: {} has ranks 0 to {}", rank.value,
                                 topology.name, int64_t{topology.num_ranks()} - 1));
    }
    if (!seen.insert(rank.value).second) {
      return invalid(fmt::format("rank {} is given twice", rank.value));
    }
    result.ranks.push_back(topology.ranks[rank.value]);
  }
  return result;
}

Result<Topology> with_relays(const Topology& topology, const std::vector<NodeId>& devices) {
  Topology result = topology;
  for (const NodeId device : devices) {
    if (device.value >= topology.nodes.size()) {
      return invalid(fmt::format("{} has no node {}", topology.name, device.value));
    }
    Node& node = result.nodes[device.value];
    const auto held = std::find(topology.ranks.begin(), topology.ranks.end(), device);
    if (held != topology.ranks.end()) {
      return invalid(
          fmt::format("{} holds rank {}, which passes data on anyhow; a relay is a "
                      "device without a rank",
                      node.name, held - topology.ranks.begin()));
    }
    if (node.kind != NodeKind::kDevice) {
      return invalid(fmt::format("{} is no device but a {}; a relay is a device without a rank",
                                 node.name, to_string(node.kind)));
    }
    node.kind = NodeKind::kSwitch;
  }
  return result;
}

Result<std::vector<Rank>> parse_ranks(std::string_view text, uint32_t num_ranks) {
  std::vector<Rank> ranks;
  for (const std::string_view part : split(text, ',')) {
    const auto ends = split(part, '-');
    const auto first = parse_uint32(ends.front());
    const auto last = parse_uint32(ends.back());
    if (ends.size() > 2 || !first || !last || *first > *last) {
      return invalid(
          fmt::format("'{}' is no rank and no range of ranks; write for example 0,1,4,6 "
                      "or 0-3,6",
                      part));
    }
    if (*last >= num_ranks) {
      return invalid(fmt::format("rank {} does not exist: there are {} ranks", *last, num_ranks));
    }
    if (ranks.size() > num_ranks) return invalid("a rank is given twice");
    for (uint32_t rank = *first; rank <= *last; ++rank) ranks.push_back(Rank(rank));
  }
  return ranks;
}

Result<LinkChange> parse_link_change(std::string_view text) {
  const auto parts = split(text, '=');
  const auto names = split(parts[0], '~');
  const auto factor = parts.size() > 1 ? parse_decimal(parts[1]) : 0.0;
  if (parts.size() > 2 || names.size() != 2 || !factor || names[0].empty() || names[1].empty()) {
    return invalid(fmt::format(
        "'{}' is no link; write gpu0~gpu3 for one that failed, gpu0~gpu3=0.5 for one at half rate",
        text));
  }
  if (parts.size() > 1 && !(*factor > 0)) {
    return invalid(
        fmt::format("'{}': a factor is above 0; write {} for a link that failed", text, parts[0]));
  }
  return LinkChange{std::string(names[0]), std::string(names[1]), *factor};
}

Result<Topology> change_link(const Topology& topology, const LinkChange& change) {
  TUTTI_ASSIGN(const NodeId a, demand_node(topology, change.a));
  TUTTI_ASSIGN(const NodeId b, demand_node(topology, change.b));
  const auto is_between = [&](const Link& link) {
    return (link.from == a && link.to == b) || (link.from == b && link.to == a);
  };
  if (std::none_of(topology.links.begin(), topology.links.end(), is_between)) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("no link joins {} and {}; {} has links to {}", change.a, change.b,
                             change.a, neighbours(topology, a))};
  }
  Topology result = topology;
  if (change.factor == 0) {
    std::erase_if(result.links, is_between);
  } else {
    for (Link& link : result.links) {
      if (is_between(link)) link.gbps *= change.factor;
    }
  }
  TUTTI_TRY(check(result));
  return result;
}

Result<Topology> without_link(const Topology& topology, std::string_view a, std::string_view b) {
  return change_link(topology, {std::string(a), std::string(b), 0});
}

}  // namespace tutti::topo
