#include "plan/packing/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/invalid.h"
#include "base/try.h"
#include "topo/router.h"

namespace tutti::plan::packing {
namespace {

constexpr double kUnitsPerGbps = 1e6;  // a unit is 1 kB/s
constexpr double kMaxGbps = 1e5;       // sums over all links, times ranks, stay far below 2^60
constexpr uint32_t kNoNode = UINT32_MAX;

using LinkFilter = std::vector<bool>;

Status check_devices(const topo::Topology& topology) {
  std::unordered_set<uint32_t> seen;
  for (uint32_t r = 0; r < topology.num_ranks(); ++r) {
    if (!seen.insert(topology.ranks[r].value).second) {
      return invalid(
          fmt::format("rank {} shares {} with another rank; packed trees need a device for each "
                      "rank",
                      r, topology.device_of(Rank{r}).name));
    }
  }
  return {};
}

Result<int64_t> units_of(const topo::Topology& topology, const topo::Link& link) {
  const double units = std::round(link.gbps * kUnitsPerGbps);
  if (units >= 1 && link.gbps <= kMaxGbps) return static_cast<int64_t>(units);
  return Error{ErrorCode::kUnsupported,
               fmt::format("the link from {} to {} has {} GB/s; trees are packed for rates from 1 "
                           "kB/s to {:.0e} GB/s",
                           topology.nodes[link.from.value].name, topology.nodes[link.to.value].name,
                           link.gbps, kMaxGbps)};
}

enum class Idle : uint8_t { kLeftOut, kSwitches };  // devices that hold no rank

// Ranks first, then all other nodes in the order of the topology.
std::vector<uint32_t> number_nodes(const topo::Topology& topology, Idle idle, Graph& graph) {
  std::vector<uint32_t> number(topology.nodes.size(), kNoNode);
  const auto add = [&](topo::NodeId node) {
    number[node.value] = static_cast<uint32_t>(graph.nodes.size());
    graph.nodes.push_back(node);
  };
  for (const topo::NodeId device : topology.ranks) add(device);
  for (uint32_t n = 0; n < topology.nodes.size(); ++n) {
    const bool is_device = topology.nodes[n].kind == topo::NodeKind::kDevice;
    const bool may_switch = !is_device || idle == Idle::kSwitches;
    if (may_switch && number[n] == kNoNode) add(topo::NodeId{n});
  }
  return number;
}

Result<Graph> graph_of(const topo::Topology& topology, const LinkFilter& is_used,
                       Idle idle = Idle::kLeftOut) {
  Graph graph;
  graph.num_ranks = topology.num_ranks();
  const std::vector<uint32_t> number = number_nodes(topology, idle, graph);
  const size_t n = graph.nodes.size();
  graph.capacity.assign(n, std::vector<int64_t>(n, 0));
  int64_t common = 0;
  for (size_t l = 0; l < topology.links.size(); ++l) {
    const topo::Link& link = topology.links[l];
    const uint32_t from = number[link.from.value];
    const uint32_t to = number[link.to.value];
    if (!is_used[l] || from == kNoNode || to == kNoNode) continue;
    TUTTI_ASSIGN(const int64_t units, units_of(topology, link));
    graph.capacity[from][to] += units;
  }
  for (const auto& row : graph.capacity) {
    for (const int64_t units : row) common = std::gcd(common, units);
  }
  if (common == 0) common = 1;
  graph = scaled(graph, 1, common);
  graph.unit_gbps = static_cast<double>(common) / kUnitsPerGbps;
  return graph;
}

struct Routes {
  LinkFilter is_used;
  std::vector<std::vector<topo::NodeId>> nodes;  // of each route, both ends included
};

bool is_fast(const topo::Link& link) {
  return link.link_class == topo::LinkClass::kNvlink || link.link_class == topo::LinkClass::kXgmi;
}

// All of them, or those without a fast link.
Routes routes_of(const topo::Topology& topology, Links links) {
  topo::Router router(topology);
  Routes routes{LinkFilter(topology.links.size(), false), {}};
  for (uint32_t a = 0; a < topology.num_ranks(); ++a) {
    for (uint32_t b = 0; b < topology.num_ranks(); ++b) {
      if (a == b) continue;
      const auto route = router.route(Rank{a}, Rank{b});
      if (!route) continue;  // trees may relay through ranks in between
      const bool has_fast = std::any_of(route->begin(), route->end(), [&](topo::LinkId link) {
        return is_fast(topology.links[link.value]);
      });
      if (links == Links::kSlow && has_fast) continue;
      std::vector<topo::NodeId> nodes = {topology.ranks[a]};
      for (const topo::LinkId link : *route) {
        routes.is_used[link.value] = true;
        nodes.push_back(topology.links[link.value].to);
      }
      routes.nodes.push_back(std::move(nodes));
    }
  }
  return routes;
}

// The first rank that rank 0 does not reach, or none.
std::optional<uint32_t> unreached(const Graph& graph) {
  std::vector<bool> seen(graph.num_nodes(), false);
  std::vector<uint32_t> pending = {0};
  seen[0] = true;
  while (!pending.empty()) {
    const uint32_t at = pending.back();
    pending.pop_back();
    for (uint32_t next = 0; next < graph.num_nodes(); ++next) {
      if (graph.capacity[at][next] == 0 || seen[next]) continue;
      seen[next] = true;
      pending.push_back(next);
    }
  }
  for (uint32_t r = 0; r < graph.num_ranks; ++r) {
    if (!seen[r]) return r;
  }
  return std::nullopt;
}

bool is_connected(const Graph& graph) { return !unreached(graph) && !unreached(reversed(graph)); }

Status check_connected(const topo::Topology& topology, const Graph& graph) {
  const auto cannot = [&](uint32_t from, uint32_t to) {
    return invalid(fmt::format(
        "{} (rank {}) cannot reach {} (rank {}), not even through other "
        "ranks, so there is no schedule; leave one of them out (--ranks) or "
        "see which links failed (--fail)",
        topology.device_of(Rank{from}).name, from, topology.device_of(Rank{to}).name, to));
  };
  if (const auto rank = unreached(graph)) return cannot(0, *rank);
  if (const auto rank = unreached(reversed(graph))) return cannot(*rank, 0);
  return {};
}

// The routes that stay within the links used, in the graph's numbers.
void add_routes(const topo::Topology& topology, const Routes& routes, Graph& graph) {
  std::vector<uint32_t> number(topology.nodes.size(), kNoNode);
  for (uint32_t n = 0; n < graph.num_nodes(); ++n) number[graph.nodes[n].value] = n;
  for (const auto& nodes : routes.nodes) {
    std::vector<uint32_t> route;
    bool is_whole = true;
    for (const topo::NodeId node : nodes) {
      const uint32_t next = number[node.value];
      is_whole = is_whole && (route.empty() || graph.capacity[route.back()][next] > 0);
      route.push_back(next);
    }
    if (is_whole) graph.routes.push_back(std::move(route));
  }
}

// Fast links alone, if they connect all ranks; else all.
Status take_links(const topo::Topology& topology, const Routes& routes, Fabric& fabric) {
  fabric.is_used = routes.is_used;
  for (size_t l = 0; l < topology.links.size(); ++l) {
    if (!is_fast(topology.links[l])) fabric.is_used[l] = false;
  }
  TUTTI_ASSIGN(fabric.graph, graph_of(topology, fabric.is_used));
  if (is_connected(fabric.graph)) {
    fabric.leaves_slow = fabric.is_used != routes.is_used;
    return {};
  }
  fabric.is_used = routes.is_used;
  TUTTI_ASSIGN(fabric.graph, graph_of(topology, fabric.is_used));
  return check_connected(topology, fabric.graph);
}

bool has_idle_devices(const topo::Topology& topology) {
  const auto is_device = [](const topo::Node& node) {
    return node.kind == topo::NodeKind::kDevice;
  };
  const auto num_devices = std::count_if(topology.nodes.begin(), topology.nodes.end(), is_device);
  return std::cmp_greater(num_devices, topology.num_ranks());
}

// Links of the kinds that the fabric uses, wherever they are.
Result<Graph> relayed_graph(const topo::Topology& topology, const Fabric& fabric) {
  LinkFilter is_used(topology.links.size());
  for (size_t l = 0; l < topology.links.size(); ++l) {
    is_used[l] = !fabric.leaves_slow || is_fast(topology.links[l]);
  }
  return graph_of(topology, is_used, Idle::kSwitches);
}

}  // namespace

Graph empty_graph(uint32_t num_nodes, uint32_t num_switches) {
  Graph graph;
  graph.num_ranks = num_nodes - num_switches;
  graph.capacity.assign(num_nodes, std::vector<int64_t>(num_nodes, 0));
  return graph;
}

Graph reversed(const Graph& graph) {
  Graph result = graph;
  for (uint32_t a = 0; a < graph.num_nodes(); ++a) {
    for (uint32_t b = 0; b < graph.num_nodes(); ++b) result.capacity[a][b] = graph.capacity[b][a];
  }
  for (auto& route : result.routes) std::reverse(route.begin(), route.end());
  return result;
}

bool is_symmetric(const Graph& graph) { return reversed(graph).capacity == graph.capacity; }

Graph scaled(const Graph& graph, int64_t numerator, int64_t denominator) {
  Graph result = graph;
  for (auto& row : result.capacity) {
    for (int64_t& units : row) units = units * numerator / denominator;
  }
  result.unit_gbps =
      graph.unit_gbps * static_cast<double>(denominator) / static_cast<double>(numerator);
  return result;
}

Result<Fabric> fabric_of(const topo::Topology& topology, Links links) {
  TUTTI_TRY(topo::check(topology));
  TUTTI_TRY(check_devices(topology));
  Fabric fabric;
  const Routes routes = routes_of(topology, links);
  TUTTI_TRY(take_links(topology, routes, fabric));
  add_routes(topology, routes, fabric.graph);
  TUTTI_ASSIGN(fabric.whole, graph_of(topology, LinkFilter(topology.links.size(), true)));
  if (has_idle_devices(topology)) {
    TUTTI_ASSIGN(fabric.relayed, relayed_graph(topology, fabric));
  }
  return fabric;
}

}  // namespace tutti::plan::packing
