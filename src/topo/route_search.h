// Finds one route by the rule of router.h, without looking at more of a large cluster than it must.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topo/topology.h"

namespace tutti::topo {

// Idea: search level by level from both ends, each time from the side whose next level costs less,
// until the two meet. A node's links are sorted by the zone they lead to (a machine with ranks, or
// the network), so the thousands of a central switch that lead to other machines are not looked at.
// The links noted on the way hold every shortest route; of these, first the widest bottleneck is
// found, then the least latency among those as wide; the walk from the sender chooses among equals.
class RouteSearch {
 public:
  // The topology must pass topo::check and outlive the search.
  explicit RouteSearch(const Topology& topology);

  // The links from one device to another, which must differ; empty when there is no route.
  // Of n equally good ways on, the (spread mod n)-th is taken.
  [[nodiscard]] std::vector<LinkId> find(NodeId from, NodeId to, uint32_t spread);

 private:
  // A link as one of the searches sees it; `next` is its far end.
  struct Edge {
    uint32_t zone;  // of `next`
    NodeId next;
    LinkId link;
  };

  // One of the two searches: forward out of the sender, or backward from the receiver. What is kept
  // by node is valid where `seen` is the number of the search under way.
  struct Side {
    std::vector<uint32_t> first;  // those of node n, sorted by zone, are
    std::vector<Edge> edges;      // edges[first[n]] up to edges[first[n + 1]]

    std::vector<uint32_t> seen = {};
    std::vector<uint32_t> depth = {};
    std::vector<double> width = {};  // the widest bottleneck between the node and the start
    std::vector<NodeId> frontier = {};
    std::vector<LinkId> links = {};    // every link that leads one level deeper ...
    std::vector<size_t> levels = {0};  // ... and where the links of each level end

    [[nodiscard]] std::span<const Edge> edges_to(NodeId node, uint32_t zone) const;
    [[nodiscard]] std::span<const LinkId> links_of_level(size_t level) const {
      return {links.data() + levels[level], levels[level + 1] - levels[level]};
    }
    [[nodiscard]] size_t num_levels() const { return levels.size() - 1; }
  };

  [[nodiscard]] Side make_side(NodeId Link::*near, NodeId Link::*far) const;
  [[nodiscard]] size_t cost_of_next_level(const Side& side) const;
  void start(Side& side, NodeId at);
  void reach(Side& side, NodeId node, double width);
  void expand(Side& side, NodeId goal);
  [[nodiscard]] bool is_met(NodeId node) const;
  [[nodiscard]] bool meet(NodeId from, NodeId to);
  [[nodiscard]] double widest_bottleneck() const;
  void find_latency_to_go(NodeId to);
  [[nodiscard]] LinkId choose(std::span<const LinkId> level, NodeId at, uint32_t spread);

  const Topology& topology_;
  // By node: the machine's number + 1, or 0 for nodes of no machine that holds ranks.
  std::vector<uint32_t> zone_;
  Side forward_;
  Side backward_;
  uint32_t number_ = 0;                // of the search under way
  std::vector<uint32_t> zones_;        // that its routes may touch
  std::vector<NodeId> meeting_;        // the nodes where both sides met
  double min_gbps_ = 0;                // narrower links are on no route as wide as the widest
  std::vector<double> latency_to_go_;  // by node reached; infinite where nothing leads on
  std::vector<LinkId> choices_;
};

}  // namespace tutti::topo
