#include "topo/route_search.h"

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

#include "base/check.h"

namespace tutti::topo {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr uint32_t kNetworkZone = 0;

std::vector<uint32_t> zones_of(const Topology& topology) {
  std::unordered_set<uint32_t> machines;
  for (const NodeId device : topology.ranks) machines.insert(topology.nodes[device.value].machine);
  std::vector<uint32_t> zones;
  zones.reserve(topology.nodes.size());
  for (const Node& node : topology.nodes) {
    zones.push_back(machines.contains(node.machine) ? node.machine + 1 : kNetworkZone);
  }
  return zones;
}

}  // namespace

std::span<const RouteSearch::Edge> RouteSearch::Side::edges_to(NodeId node, uint32_t zone) const {
  const auto begin = edges.begin() + first[node.value];
  const auto end = edges.begin() + first[node.value + 1];
  const auto low = std::lower_bound(begin, end, zone,
                                    [](const Edge& edge, uint32_t z) { return edge.zone < z; });
  const auto high =
      std::upper_bound(low, end, zone, [](uint32_t z, const Edge& edge) { return z < edge.zone; });
  return {low, high};
}

RouteSearch::Side RouteSearch::make_side(NodeId Link::*near, NodeId Link::*far) const {
  const size_t num_nodes = topology_.nodes.size();
  Side side{std::vector<uint32_t>(num_nodes + 1), std::vector<Edge>(topology_.links.size())};
  for (const Link& link : topology_.links) ++side.first[(link.*near).value + 1];
  for (size_t i = 0; i < num_nodes; ++i) side.first[i + 1] += side.first[i];
  std::vector<uint32_t> next(side.first.begin(), side.first.end() - 1);
  for (uint32_t i = 0; i < topology_.links.size(); ++i) {
    const NodeId end = topology_.links[i].*far;
    side.edges[next[(topology_.links[i].*near).value]++] = {zone_[end.value], end, LinkId(i)};
  }
  for (size_t i = 0; i < num_nodes; ++i) {
    std::sort(side.edges.begin() + side.first[i], side.edges.begin() + side.first[i + 1],
              [](const Edge& a, const Edge& b) {
                return std::pair(a.zone, a.link) < std::pair(b.zone, b.link);
              });
  }
  side.seen.resize(num_nodes);
  side.depth.resize(num_nodes);
  side.width.resize(num_nodes);
  return side;
}

RouteSearch::RouteSearch(const Topology& topology)
    : topology_(topology),
      zone_(zones_of(topology)),
      forward_(make_side(&Link::from, &Link::to)),
      backward_(make_side(&Link::to, &Link::from)),
      latency_to_go_(topology.nodes.size()) {}

size_t RouteSearch::cost_of_next_level(const Side& side) const {
  size_t cost = 0;
  for (const NodeId node : side.frontier) {
    for (const uint32_t zone : zones_) cost += side.edges_to(node, zone).size();
  }
  return cost;
}

void RouteSearch::reach(Side& side, NodeId node, double width) {
  side.seen[node.value] = number_;
  side.depth[node.value] = static_cast<uint32_t>(side.num_levels());
  side.width[node.value] = width;
  side.frontier.push_back(node);
  latency_to_go_[node.value] = kInfinite;
}

void RouteSearch::start(Side& side, NodeId at) {
  side.frontier.clear();
  side.links.clear();
  side.levels.assign(1, 0);
  reach(side, at, kInfinite);
}

// Takes one side a level deeper. Devices other than the goal are not reached, as nothing may pass.
void RouteSearch::expand(Side& side, NodeId goal) {
  const std::vector<NodeId> from = std::exchange(side.frontier, {});
  side.levels.push_back(side.links.size());
  const auto look = [&](NodeId node, const Edge& edge) {
    const NodeId next = edge.next;
    if (topology_.nodes[next.value].kind == NodeKind::kDevice && next != goal) return;
    const double width = std::min(side.width[node.value], topology_.links[edge.link.value].gbps);
    if (side.seen[next.value] != number_) {
      reach(side, next, width);
    } else if (side.depth[next.value] == side.num_levels()) {
      side.width[next.value] = std::max(side.width[next.value], width);
    } else {
      return;  // it was reached with fewer links
    }
    side.links.push_back(edge.link);
  };
  for (const NodeId node : from) {
    for (const uint32_t zone : zones_) {
      for (const Edge& edge : side.edges_to(node, zone)) look(node, edge);
    }
  }
  side.levels.back() = side.links.size();
}

bool RouteSearch::is_met(NodeId node) const {
  return forward_.seen[node.value] == number_ && backward_.seen[node.value] == number_;
}

// Levels are complete, so where the sides first share nodes, these are on all shortest routes: the
// nodes at this many links from the sender.
bool RouteSearch::meet(NodeId from, NodeId to) {
  ++number_;
  zones_ = {kNetworkZone, zone_[from.value]};
  if (zone_[to.value] != zone_[from.value]) zones_.push_back(zone_[to.value]);
  start(forward_, from);
  start(backward_, to);
  meeting_.clear();
  while (meeting_.empty()) {
    if (forward_.frontier.empty() || backward_.frontier.empty()) return false;
    const bool is_forward = cost_of_next_level(forward_) <= cost_of_next_level(backward_);
    Side& side = is_forward ? forward_ : backward_;
    expand(side, is_forward ? to : from);
    for (const NodeId node : side.frontier) {
      if (is_met(node)) meeting_.push_back(node);
    }
  }
  return true;
}

double RouteSearch::widest_bottleneck() const {
  double widest = 0;
  for (const NodeId node : meeting_) {
    widest = std::max(widest, std::min(forward_.width[node.value], backward_.width[node.value]));
  }
  return widest;
}

// From the receiver back: first the levels of the backward side, then, through the meeting nodes,
// those of the forward side in reverse.
void RouteSearch::find_latency_to_go(NodeId to) {
  latency_to_go_[to.value] = 0;
  const auto relax = [this](LinkId id) {
    const Link& link = topology_.links[id.value];
    if (link.gbps < min_gbps_) return;
    const double latency = link.latency_ns + latency_to_go_[link.to.value];
    latency_to_go_[link.from.value] = std::min(latency_to_go_[link.from.value], latency);
  };
  std::for_each(backward_.links.begin(), backward_.links.end(), relax);
  std::for_each(forward_.links.rbegin(), forward_.links.rend(), relax);
}

// Of the level's links out of `at`, those that keep to the least latency, sorted.
LinkId RouteSearch::choose(std::span<const LinkId> level, NodeId at, uint32_t spread) {
  choices_.clear();
  for (const LinkId id : level) {
    const Link& link = topology_.links[id.value];
    if (link.from != at || link.gbps < min_gbps_) continue;
    const double latency = link.latency_ns + latency_to_go_[link.to.value];
    if (latency == latency_to_go_[at.value]) choices_.push_back(id);
  }
  TUTTI_CHECK(!choices_.empty(), "a node on a route has a link that leads on");
  std::sort(choices_.begin(), choices_.end(), [this](LinkId a, LinkId b) {
    return std::pair(topology_.links[a.value].to, a) < std::pair(topology_.links[b.value].to, b);
  });
  return choices_[spread % choices_.size()];
}

std::vector<LinkId> RouteSearch::find(NodeId from, NodeId to, uint32_t spread) {
  std::vector<LinkId> route;
  if (!meet(from, to)) return route;
  min_gbps_ = widest_bottleneck();
  find_latency_to_go(to);

  NodeId at = from;
  const auto step = [&](std::span<const LinkId> level) {
    route.push_back(choose(level, at, spread));
    at = topology_.links[route.back().value].to;
  };
  for (size_t level = 0; level < forward_.num_levels(); ++level) {
    step(forward_.links_of_level(level));
  }
  for (size_t level = backward_.num_levels(); level > 0; --level) {
    step(backward_.links_of_level(level - 1));
  }
  TUTTI_CHECK(at == to, "a route ends at its destination");
  return route;
}

}  // namespace tutti::topo
