#include "plan/packing/flow.h"

// GCC 12 takes the end of Boost's iterator over all edges, an empty optional, for something read.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>

namespace tutti::plan::packing {
// Not unnamed: Flow::Network, which others may name, is made of it.
namespace flow_graph {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;

struct ArcState {
  int64_t capacity = 0;
  int64_t residual = 0;
  Traits::edge_descriptor reverse = {};
};

using BoostGraph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, ArcState>;

}  // namespace flow_graph

using flow_graph::ArcState;
using flow_graph::BoostGraph;
using flow_graph::Traits;

struct Flow::Network {
  BoostGraph graph;
  std::vector<Traits::edge_descriptor> arcs = {};
};

Flow::Flow(uint32_t num_nodes)
    : network_(std::make_unique<Network>(Network{BoostGraph(num_nodes)})) {}
Flow::Flow(Flow&&) noexcept = default;
Flow& Flow::operator=(Flow&&) noexcept = default;
Flow::~Flow() = default;

uint32_t Flow::add_node() { return static_cast<uint32_t>(boost::add_vertex(network_->graph)); }

uint32_t Flow::add(uint32_t from, uint32_t to, int64_t capacity) {
  BoostGraph& graph = network_->graph;
  const auto forward = boost::add_edge(from, to, graph).first;
  const auto backward = boost::add_edge(to, from, graph).first;
  graph[forward].reverse = backward;
  graph[backward].reverse = forward;
  network_->arcs.push_back(forward);
  capacity_.push_back(capacity);
  return static_cast<uint32_t>(capacity_.size() - 1);
}

void Flow::add_all(const std::vector<std::vector<int64_t>>& capacity) {
  for (uint32_t a = 0; a < capacity.size(); ++a) {
    for (uint32_t b = 0; b < capacity[a].size(); ++b) {
      if (capacity[a][b] > 0) add(a, b, capacity[a][b]);
    }
  }
}

int64_t Flow::run(uint32_t source, uint32_t sink) {
  // What is unlimited is larger than any cut of limited arcs, and as little as that takes: the
  // algorithm adds up capacities.
  int64_t unlimited = 1;
  for (const int64_t capacity : capacity_) unlimited += capacity == kUnlimited ? 0 : capacity;
  BoostGraph& graph = network_->graph;
  for (size_t arc = 0; arc < capacity_.size(); ++arc) {
    graph[network_->arcs[arc]].capacity = capacity_[arc] == kUnlimited ? unlimited : capacity_[arc];
  }
  source_ = source;
  return boost::push_relabel_max_flow(graph, source, sink, boost::get(&ArcState::capacity, graph),
                                      boost::get(&ArcState::residual, graph),
                                      boost::get(&ArcState::reverse, graph),
                                      boost::get(boost::vertex_index, graph));
}

std::vector<bool> Flow::source_side() const {
  const BoostGraph& graph = network_->graph;
  std::vector<bool> seen(boost::num_vertices(graph), false);
  std::vector<size_t> pending = {source_};
  seen[source_] = true;
  while (!pending.empty()) {
    const size_t at = pending.back();
    pending.pop_back();
    const auto [begin, end] = boost::out_edges(at, graph);
    for (auto edge = begin; edge != end; ++edge) {
      const size_t next = boost::target(*edge, graph);
      if (graph[*edge].residual == 0 || seen[next]) continue;
      seen[next] = true;
      pending.push_back(next);
    }
  }
  return seen;
}

int64_t Flow::on(uint32_t arc) const {
  const ArcState& state = network_->graph[network_->arcs[arc]];
  return state.capacity - state.residual;
}

}  // namespace tutti::plan::packing
