#include "plan/packing/flow.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>

namespace tutti::plan::packing {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;

struct ArcState {
  int64_t capacity = 0;
  int64_t residual = 0;
  Traits::edge_descriptor reverse = {};
};

using BoostGraph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, ArcState>;

std::vector<bool> reached(const BoostGraph& graph, uint32_t source) {
  std::vector<bool> seen(boost::num_vertices(graph), false);
  std::vector<size_t> pending = {source};
  seen[source] = true;
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

}  // namespace

uint32_t Flow::add(uint32_t from, uint32_t to, int64_t capacity) {
  arcs_.push_back({from, to, capacity});
  return static_cast<uint32_t>(arcs_.size() - 1);
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
  for (const Arc& arc : arcs_) unlimited += arc.capacity == kUnlimited ? 0 : arc.capacity;
  BoostGraph graph(num_nodes_);
  std::vector<Traits::edge_descriptor> edges;
  edges.reserve(arcs_.size());
  for (const Arc& arc : arcs_) {
    const int64_t capacity = arc.capacity == kUnlimited ? unlimited : arc.capacity;
    const auto forward = boost::add_edge(arc.from, arc.to, {capacity}, graph).first;
    const auto backward = boost::add_edge(arc.to, arc.from, {0}, graph).first;
    graph[forward].reverse = backward;
    graph[backward].reverse = forward;
    edges.push_back(forward);
  }
  const int64_t value = boost::push_relabel_max_flow(
      graph, source, sink, boost::get(&ArcState::capacity, graph),
      boost::get(&ArcState::residual, graph), boost::get(&ArcState::reverse, graph),
      boost::get(boost::vertex_index, graph));
  flow_.clear();
  for (const auto& edge : edges) flow_.push_back(graph[edge].capacity - graph[edge].residual);
  source_side_ = reached(graph, source);
  return value;
}

}  // namespace tutti::plan::packing
