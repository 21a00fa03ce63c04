// At a switch, links in and links out are joined where some message goes from the one to the other.
// What is joined, directly or through others, is one crossing, and becomes a node of its own. (Of
// links that are joined only through others no message uses the turn; such a bound is still true,
// if not always the sharpest.)
#include <numeric>

#include "plan/packing/graph.h"

namespace tutti::plan::packing {
namespace {

// Which links of one switch belong together: the links in, by where they come from, and the links
// out, by where they go to.
class CrossingsOfSwitch {
 public:
  explicit CrossingsOfSwitch(uint32_t num_nodes)
      : num_nodes_(num_nodes), above_(size_t{2} * num_nodes) {
    std::iota(above_.begin(), above_.end(), 0);
  }

  void join(uint32_t from, uint32_t to) { above_[top(from)] = top(num_nodes_ + to); }
  uint32_t crossing_from(uint32_t from) { return top(from); }
  uint32_t crossing_to(uint32_t to) { return top(num_nodes_ + to); }

 private:
  uint32_t top(uint32_t end) {
    while (above_[end] != end) end = above_[end] = above_[above_[end]];
    return end;
  }

  uint32_t num_nodes_;
  std::vector<uint32_t> above_;
};

class Separation {
 public:
  explicit Separation(const Graph& graph)
      : graph_(graph), crossings_(graph.num_nodes(), CrossingsOfSwitch(graph.num_nodes())) {
    for (const auto& route : graph.routes) {
      for (size_t i = 1; i + 1 < route.size(); ++i) {
        crossings_[route[i]].join(route[i - 1], route[i + 1]);
      }
    }
    result_.num_ranks = graph.num_ranks;
    result_.unit_gbps = graph.unit_gbps;
    const auto ranks_end = graph.nodes.begin() + static_cast<std::ptrdiff_t>(graph.num_ranks);
    result_.nodes.assign(graph.nodes.begin(), ranks_end);
    numbers_.resize(graph.num_nodes());
  }

  Graph run() && {
    for (const auto& route : graph_.routes) result_.routes.push_back(numbered(route));
    const size_t n = result_.nodes.size();
    result_.capacity.assign(n, std::vector<int64_t>(n, 0));
    for (size_t i = 0; i < result_.routes.size(); ++i) {
      const auto& now = result_.routes[i];
      const auto& before = graph_.routes[i];
      for (size_t k = 1; k < now.size(); ++k) {
        result_.capacity[now[k - 1]][now[k]] = graph_.capacity[before[k - 1]][before[k]];
      }
    }
    return std::move(result_);
  }

 private:
  std::vector<uint32_t> numbered(const std::vector<uint32_t>& route) {
    std::vector<uint32_t> numbers;
    for (size_t i = 0; i < route.size(); ++i) {
      const bool is_end = i == 0 || i + 1 == route.size();
      numbers.push_back(
          is_end ? route[i] : number(route[i], crossings_[route[i]].crossing_from(route[i - 1])));
    }
    return numbers;
  }

  // New ones get the next number.
  uint32_t number(uint32_t node, uint32_t crossing) {
    for (const auto& [known, its] : numbers_[node]) {
      if (known == crossing) return its;
    }
    numbers_[node].emplace_back(crossing, static_cast<uint32_t>(result_.nodes.size()));
    result_.nodes.push_back(graph_.nodes[node]);
    return numbers_[node].back().second;
  }

  const Graph& graph_;
  std::vector<CrossingsOfSwitch> crossings_;
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> numbers_;  // by node: crossing, number
  Graph result_;
};

}  // namespace

Graph with_crossings_apart(const Graph& graph) { return Separation(graph).run(); }

}  // namespace tutti::plan::packing
