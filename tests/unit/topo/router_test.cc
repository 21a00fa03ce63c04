#include "topo/router.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <random>
#include <tuple>

#include "topo/build.h"
#include "topo/open.h"

namespace tutti::topo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The names of the nodes along a route, the sender's first.
std::vector<std::string> route_names(const Topology& topology, Router& router, uint32_t from,
                                     uint32_t to) {
  const auto route = router.route(Rank(from), Rank(to));
  if (!route) return {route.error().message};
  std::vector<std::string> names = {topology.device_of(Rank(from)).name};
  for (const LinkId id : *route) {
    EXPECT_EQ(topology.nodes[topology.links[id.value].from.value].name, names.back());
    names.push_back(topology.nodes[topology.links[id.value].to.value].name);
  }
  return names;
}

TEST(Router, NeedsNoLinksBetweenRanksOfOneDevice) {
  Topology topology;
  topology.ranks = {add_node(topology, NodeKind::kDevice, "a"), NodeId(0)};
  Router router(topology);
  EXPECT_TRUE(router.route(Rank(0), Rank(1)).value().empty());
  EXPECT_TRUE(router.route(Rank(0), Rank(0)).value().empty());
}

TEST(Router, RefusesRanksThatDoNotExist) {
  Topology topology;
  add_rank(topology, "a", 0);
  Router router(topology);
  const auto route = router.route(Rank(0), Rank(1));
  ASSERT_FALSE(route);
  EXPECT_EQ(route.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(route.error().message, "no route from rank 0 to rank 1: the topology has 1 ranks");
}

TEST(Router, NeverPassesThroughADevice) {
  Topology topology;
  const NodeId a = add_rank(topology, "a", 0);
  const NodeId b = add_rank(topology, "b", 0);
  const NodeId c = add_rank(topology, "c", 0);
  connect(topology, a, b, {LinkClass::kNvlink, 25, 0});
  connect(topology, b, c, {LinkClass::kNvlink, 25, 0});
  Router router(topology);
  for (int again = 0; again < 2; ++again) {
    const auto route = router.route(Rank(0), Rank(2));
    ASSERT_FALSE(route);
    EXPECT_EQ(route.error().code, ErrorCode::kNotFound);
    EXPECT_EQ(route.error().message,
              "no route from rank 0 (a) to rank 2 (c): no links lead there without passing through "
              "another device or a third machine");
  }
  EXPECT_THAT(route_names(topology, router, 1, 2), ElementsAre("b", "c"));
}

TEST(Router, NeverPassesThroughAThirdMachine) {
  Topology topology = open("switch:1*3").value();
  ASSERT_TRUE(check(topology));
  const NodeId relay = *find_node(topology, "node1/switch");
  connect(topology, NodeId(0), relay, {LinkClass::kOther, 99, 0});
  connect(topology, relay, topology.ranks[2], {LinkClass::kOther, 99, 0});
  Router router(topology);
  EXPECT_THAT(route_names(topology, router, 0, 1),
              ElementsAre("node0/dev0", "node1/switch", "node1/dev0"));
  EXPECT_THAT(route_names(topology, router, 0, 2),
              ElementsAre("node0/dev0", "node0/nic0", "fabric", "node2/nic0", "node2/dev0"));
}

TEST(Router, FollowsTheDirectionOfLinks) {
  Topology topology;
  const NodeId a = add_rank(topology, "a", 0);
  const NodeId b = add_rank(topology, "b", 0);
  add_link(topology, a, b, {LinkClass::kOther, 1, 0});
  Router router(topology);
  EXPECT_THAT(route_names(topology, router, 0, 1), ElementsAre("a", "b"));
  EXPECT_FALSE(router.route(Rank(1), Rank(0)));
}

// Two ways from a to b, over switch s and over switch t; each link has its figures.
Topology two_ways(const Wire& a_s, const Wire& s_b, const Wire& a_t, const Wire& t_b) {
  Topology topology;
  const NodeId a = add_rank(topology, "a", 0);
  const NodeId b = add_rank(topology, "b", 0);
  const NodeId s = add_node(topology, NodeKind::kSwitch, "s");
  const NodeId t = add_node(topology, NodeKind::kSwitch, "t");
  add_link(topology, a, s, a_s);
  add_link(topology, s, b, s_b);
  add_link(topology, a, t, a_t);
  add_link(topology, t, b, t_b);
  return topology;
}

TEST(Router, TakesTheWiderOfTwoWaysOfEqualLength) {
  const Topology topology = two_ways({.gbps = 9, .latency_ns = 0}, {.gbps = 2, .latency_ns = 0},
                                     {.gbps = 3, .latency_ns = 9}, {.gbps = 3, .latency_ns = 9});
  Router router(topology);
  EXPECT_THAT(route_names(topology, router, 0, 1), ElementsAre("a", "t", "b"));
}

// Width beyond the bottleneck is worth nothing: the way over s starts wider but is as narrow.
TEST(Router, TakesTheLesserLatencyAmongWaysOfEqualBottleneck) {
  const Topology topology = two_ways({.gbps = 9, .latency_ns = 5}, {.gbps = 2, .latency_ns = 5},
                                     {.gbps = 2, .latency_ns = 4}, {.gbps = 2, .latency_ns = 5});
  Router router(topology);
  EXPECT_THAT(route_names(topology, router, 0, 1), ElementsAre("a", "t", "b"));
}

TEST(Router, PrefersFewerLinksToWiderOnes) {
  Topology topology = two_ways({.gbps = 9}, {.gbps = 9}, {.gbps = 9}, {.gbps = 9});
  add_link(topology, NodeId(0), NodeId(1), {.gbps = 1, .latency_ns = 100});
  Router router(topology);
  EXPECT_THAT(route_names(topology, router, 0, 1), ElementsAre("a", "b"));
}

TEST(Router, SpreadsDestinationsOverParallelSwitches) {
  Topology topology;
  for (int i = 0; i < 4; ++i) add_rank(topology, fmt::format("d{}", i), 0);
  for (int i = 0; i < 2; ++i) {
    const NodeId spine = add_node(topology, NodeKind::kSwitch, fmt::format("s{}", i));
    for (const NodeId device : topology.ranks) connect(topology, device, spine, {.gbps = 1});
  }
  Router router(topology);
  EXPECT_THAT(route_names(topology, router, 0, 1), ElementsAre("d0", "s1", "d1"));
  EXPECT_THAT(route_names(topology, router, 0, 2), ElementsAre("d0", "s0", "d2"));
  EXPECT_THAT(route_names(topology, router, 0, 3), ElementsAre("d0", "s1", "d3"));
  EXPECT_THAT(route_names(topology, router, 3, 2), ElementsAre("d3", "s0", "d2"));
}

// --- Against all simple paths of small random graphs.

struct Path {
  std::vector<LinkId> links;
  double width = std::numeric_limits<double>::infinity();
  double latency = 0;
};

class AllPaths {
 public:
  AllPaths(const Topology& topology, NodeId to) : topology_(topology), to_(to) {}

  std::vector<Path> from(NodeId node) {
    visit(node);
    return std::move(found_);
  }

 private:
  void visit(NodeId node) {
    if (node == to_) return found_.push_back(path_);
    if (!path_.links.empty() && topology_.nodes[node.value].kind == NodeKind::kDevice) return;
    if (path_.links.empty()) from_ = node;
    if (is_third_machine(node)) return;
    on_path_.push_back(node);
    for (uint32_t i = 0; i < topology_.links.size(); ++i) {
      const Link& link = topology_.links[i];
      const bool is_new = std::find(on_path_.begin(), on_path_.end(), link.to) == on_path_.end();
      if (link.from != node || !is_new) continue;
      const Path before = path_;
      path_.links.push_back(LinkId(i));
      path_.width = std::min(path_.width, link.gbps);
      path_.latency += link.latency_ns;
      visit(link.to);
      path_ = before;
    }
    on_path_.pop_back();
  }

  [[nodiscard]] bool is_third_machine(NodeId node) const {
    const auto machine = [this](NodeId id) { return topology_.nodes[id.value].machine; };
    const bool holds_ranks =
        std::any_of(topology_.ranks.begin(), topology_.ranks.end(),
                    [&](NodeId device) { return machine(device) == machine(node); });
    return holds_ranks && machine(node) != machine(from_) && machine(node) != machine(to_);
  }

  const Topology& topology_;
  NodeId from_;
  NodeId to_;
  Path path_;
  std::vector<NodeId> on_path_;
  std::vector<Path> found_;
};

// The rule of router.h by its letter.
std::vector<LinkId> best_path(const Topology& topology, Rank from, Rank to) {
  std::vector<Path> paths =
      AllPaths(topology, topology.ranks[to.value]).from(topology.ranks[from.value]);
  if (paths.empty()) return {};
  const auto cost = [](const Path& p) { return std::tuple(p.links.size(), -p.width, p.latency); };
  const auto best = cost(*std::min_element(
      paths.begin(), paths.end(), [&](const Path& a, const Path& b) { return cost(a) < cost(b); }));
  std::erase_if(paths, [&](const Path& p) { return cost(p) != best; });
  std::vector<LinkId> chosen;
  while (chosen.size() < std::get<0>(best)) {
    std::vector<std::pair<NodeId, LinkId>> next;
    for (const Path& path : paths) {
      const LinkId link = path.links[chosen.size()];
      next.emplace_back(topology.links[link.value].to, link);
    }
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    chosen.push_back(next[to.value % next.size()].second);
    std::erase_if(paths,
                  [&](const Path& p) { return p.links[chosen.size() - 1] != chosen.back(); });
  }
  return chosen;
}

Topology random_topology(std::mt19937_64& random) {
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  Topology topology;
  const uint32_t num_nodes = 3 + below(7);
  for (uint32_t i = 0; i < num_nodes; ++i) {
    const auto name = fmt::format("n{}", i);
    if (i < 2 || below(3) == 0) {
      add_rank(topology, name, 0);
    } else {
      add_node(topology, NodeKind::kSwitch, name);
    }
    topology.nodes.back().machine = below(3);
  }
  const uint32_t num_links = below(3 * num_nodes);
  for (uint32_t i = 0; i < num_links; ++i) {
    const NodeId a(below(num_nodes));
    const NodeId b(below(num_nodes));
    const Wire wire = {LinkClass::kOther, 1.0 + below(3), 1.0 + below(3)};
    if (a != b && below(4) == 0) add_link(topology, a, b, wire);
    if (a != b) connect(topology, a, b, wire);
  }
  return topology;
}

TEST(Router, AgreesWithTheRuleOnAllPathsOfRandomGraphs) {
  const char* const given = std::getenv("TUTTI_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 20240817;
  SCOPED_TRACE(fmt::format("TUTTI_SEED={}", seed));
  std::mt19937_64 random(seed);
  size_t num_routes = 0;
  for (int round = 0; round < 400; ++round) {
    const Topology topology = random_topology(random);
    ASSERT_TRUE(check(topology));
    Router router(topology);
    for (uint32_t from = 0; from < topology.num_ranks(); ++from) {
      for (uint32_t to = 0; to < topology.num_ranks(); ++to) {
        if (from == to) continue;
        const auto expected = best_path(topology, Rank(from), Rank(to));
        const auto found = router.route(Rank(from), Rank(to));
        ASSERT_EQ(found.ok(), !expected.empty()) << "round " << round << ": " << from << "->" << to;
        if (!found) continue;
        ++num_routes;
        ASSERT_EQ(std::vector<LinkId>(found->begin(), found->end()), expected)
            << "round " << round << ": " << from << "->" << to;
      }
    }
  }
  EXPECT_GT(num_routes, 1000u);
}

// --- On real machines.

TEST(Router, TakesPcieAndSocketsWhereNoNvlinkIs) {
  const Topology topology = open("dgx-1v").value();
  Router router(topology);
  EXPECT_THAT(route_names(topology, router, 0, 3), ElementsAre("gpu0", "gpu3"));
  EXPECT_THAT(route_names(topology, router, 0, 5),
              ElementsAre("gpu0", "pcie0", "cpu0", "cpu1", "pcie2", "gpu5"));
}

TEST(Router, LeavesAMachineByTheNearestNic) {
  const Topology topology = open("dgx-a100*2").value();
  Router router(topology);
  EXPECT_THAT(route_names(topology, router, 3, 13),
              ElementsAre("node0/gpu3", "node0/pcie3", "node0/nic3", "fabric", "node1/nic5",
                          "node1/pcie5", "node1/gpu5"));
}

TEST(Router, StaysInsideTheMachineWhenItCan) {
  const Topology topology = open("dgx-1v*2").value();
  Router router(topology);
  EXPECT_THAT(route_names(topology, router, 0, 5),
              ElementsAre("node0/gpu0", "node0/pcie0", "node0/cpu0", "node0/cpu1", "node0/pcie2",
                          "node0/gpu5"));
}

TEST(Router, CrossesRailsOverTheSpine) {
  const Topology topology = open("rail:dgx-h100*3").value();
  Router router(topology);
  EXPECT_THAT(route_names(topology, router, 2, 18),
              ElementsAre("node0/gpu2", "node0/pcie2", "node0/nic2", "rail2", "node2/nic2",
                          "node2/pcie2", "node2/gpu2"));
  EXPECT_THAT(route_names(topology, router, 2, 9),
              ElementsAre("node0/gpu2", "node0/pcie2", "node0/nic2", "rail2", "spine", "rail1",
                          "node1/nic1", "node1/pcie1", "node1/gpu1"));
}

// 27,600 ranks, every rank to those 1, 64 and 4096 further: 82,800 routes.
TEST(Router, ServesClustersOfManyThousandRanks) {
  const Topology topology = open("switch:6*4600").value();
  Router router(topology);
  const uint32_t num_ranks = topology.num_ranks();
  ASSERT_EQ(num_ranks, 27600u);
  for (uint32_t distance = 1; distance < num_ranks; distance *= 64) {
    for (uint32_t rank = 0; rank < num_ranks; ++rank) {
      const uint32_t to = (rank + distance) % num_ranks;
      const size_t expected = rank / 6 == to / 6 ? 2 : 4;
      ASSERT_EQ(router.route(Rank(rank), Rank(to)).value().size(), expected);
    }
  }
}

}  // namespace
}  // namespace tutti::topo
