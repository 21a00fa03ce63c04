// Multiplicative weights (Garg, Könemann): every link has a length, tiny at first. Again and again
// the shortest tree is taken with as much as its narrowest link carries, and its links grow longer
// by what they were used; when the shortest tree has length 1, all weights are scaled down until no
// link is overfull. With error eps the rate is at least 1 - 3 eps of the best.
//
// The lengths span dozens of powers of ten, and the search for the shortest tree subtracts them:
// they are divided by the shortest before each search, or links differ by less than a rounding.
//
// Then as few trees as possible: whole trees, one unit of capacity each, chosen among those found,
// by a bounded search. If they carry 95 % of what all do, they are taken; else all are, with their
// weights in 1/64 of a unit.
#include "plan/packing/blink.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "plan/packing/bounds.h"
#include "plan/packing/split.h"

namespace tutti::plan::packing {
namespace {

constexpr double kEpsilon = 0.1;
constexpr double kGoodEnough = 0.95;
constexpr uint32_t kMaxTrials = 200'000;
constexpr double kWeightSteps = 64;
constexpr double kNever = std::numeric_limits<double>::infinity();

using Lengths = std::vector<std::vector<double>>;

// A node on the cycle that following the cheapest links in leads to; kNoParent if there is none.
uint32_t find_cycle(const std::vector<uint32_t>& parent, uint32_t root) {
  for (uint32_t start = 0; start < parent.size(); ++start) {
    uint32_t at = start;
    for (size_t hops = 0; hops < parent.size() && at != root; ++hops) at = parent[at];
    if (at != root) return at;
  }
  return kNoParent;
}

std::vector<uint32_t> cheapest_parents(const Lengths& length, uint32_t root) {
  const auto n = static_cast<uint32_t>(length.size());
  std::vector<uint32_t> parent(n, kNoParent);
  for (uint32_t v = 0; v < n; ++v) {
    for (uint32_t u = 0; v != root && u < n; ++u) {
      if (u == v || length[u][v] == kNever) continue;
      if (parent[v] == kNoParent || length[u][v] < length[parent[v]][v]) parent[v] = u;
    }
  }
  return parent;
}

// The cycle becomes one node, the last; a link into it costs what it adds.
struct Contracted {
  Lengths length;
  std::vector<uint32_t> number;                    // old to new
  std::vector<std::pair<uint32_t, uint32_t>> in;   // by new node: the old link into the cycle
  std::vector<std::pair<uint32_t, uint32_t>> out;  // by new node: the old link out of it
};

Contracted contract(const Lengths& length, const std::vector<uint32_t>& parent,
                    const std::vector<bool>& on_cycle) {
  const auto n = static_cast<uint32_t>(length.size());
  Contracted c;
  uint32_t next = 0;
  for (uint32_t v = 0; v < n; ++v) c.number.push_back(on_cycle[v] ? kNoParent : next++);
  std::replace(c.number.begin(), c.number.end(), kNoParent, next);
  c.length.assign(next + 1, std::vector<double>(next + 1, kNever));
  c.in.resize(next + 1);
  c.out.resize(next + 1);
  for (uint32_t u = 0; u < n; ++u) {
    for (uint32_t v = 0; v < n; ++v) {
      if (u == v || length[u][v] == kNever || (on_cycle[u] && on_cycle[v])) continue;
      const double cost = on_cycle[v] ? length[u][v] - length[parent[v]][v] : length[u][v];
      double& best = c.length[c.number[u]][c.number[v]];
      if (cost >= best) continue;
      best = cost;
      if (on_cycle[v]) c.in[c.number[u]] = {u, v};
      if (on_cycle[u]) c.out[c.number[v]] = {u, v};
    }
  }
  return c;
}

// Recursion is at most as deep as there are nodes: every cycle has two or more.
std::vector<uint32_t> shortest(const Lengths& length, uint32_t root) {
  std::vector<uint32_t> parent = cheapest_parents(length, root);
  const uint32_t start = find_cycle(parent, root);
  if (start == kNoParent) return parent;
  std::vector<bool> on_cycle(length.size(), false);
  for (uint32_t at = start; !on_cycle[at]; at = parent[at]) on_cycle[at] = true;
  const Contracted c = contract(length, parent, on_cycle);
  const std::vector<uint32_t> small = shortest(c.length, c.number[root]);
  const auto whole = static_cast<uint32_t>(c.length.size() - 1);
  std::vector<uint32_t> old(c.length.size(), 0);
  for (uint32_t v = 0; v < length.size(); ++v) old[c.number[v]] = v;
  for (uint32_t v = 0; v < length.size(); ++v) {
    if (on_cycle[v] || v == root) continue;
    const uint32_t p = small[c.number[v]];
    parent[v] = p == whole ? c.out[c.number[v]].first : old[p];
  }
  const auto [from, to] = c.in[small[whole]];
  parent[to] = from;
  return parent;
}

struct Found {
  std::vector<std::vector<uint32_t>> parents;
  std::vector<double> weights;
  double rate = 0;
};

Lengths normalised(const Lengths& length) {
  double least = kNever;
  for (const auto& row : length) least = std::min(least, *std::min_element(row.begin(), row.end()));
  Lengths result = length;
  for (auto& row : result) {
    for (double& each : row) each /= least;
  }
  return result;
}

Found multiplicative_weights(const Graph& graph, uint32_t root) {
  const uint32_t n = graph.num_ranks;
  double num_links = 0;
  for (const auto& row : graph.capacity) {
    num_links += static_cast<double>(n - std::count(row.begin(), row.end(), 0));
  }
  const double first = std::pow(num_links / (1 - kEpsilon), -1 / kEpsilon);
  Lengths length(n, std::vector<double>(n, kNever));
  for (uint32_t u = 0; u < n; ++u) {
    for (uint32_t v = 0; v < n; ++v) {
      if (graph.capacity[u][v] > 0) {
        length[u][v] = first / static_cast<double>(graph.capacity[u][v]);
      }
    }
  }
  std::map<std::vector<uint32_t>, double> weights;
  for (;;) {
    const std::vector<uint32_t> parent = shortest(normalised(length), root);
    double total = 0;
    double narrowest = kNever;
    for (uint32_t v = 0; v < n; ++v) {
      if (v == root) continue;
      total += length[parent[v]][v];
      narrowest = std::min(narrowest, static_cast<double>(graph.capacity[parent[v]][v]));
    }
    if (total >= 1) break;
    weights[parent] += narrowest;
    for (uint32_t v = 0; v < n; ++v) {
      if (v == root) continue;
      const auto capacity = static_cast<double>(graph.capacity[parent[v]][v]);
      length[parent[v]][v] *= 1 + kEpsilon * narrowest / capacity;
    }
  }
  Found found;
  Lengths load(n, std::vector<double>(n, 0));
  double overfull = 0;
  for (const auto& [parent, weight] : weights) {
    for (uint32_t v = 0; v < n; ++v) {
      if (v == root) continue;
      double& on_link = load[parent[v]][v];
      on_link += weight;
      overfull = std::max(overfull, on_link / static_cast<double>(graph.capacity[parent[v]][v]));
    }
  }
  for (const auto& [parent, weight] : weights) {
    found.parents.push_back(parent);
    found.weights.push_back(weight / overfull);
    found.rate += found.weights.back();
  }
  return found;
}

// Chooses whole trees, the heaviest first: as many as fit, with a limit on trials.
class Choice {
 public:
  Choice(const Graph& graph, uint32_t root, const Found& found)
      : left_(graph.capacity), root_(root), found_(found) {
    for (uint32_t i = 0; i < found.parents.size(); ++i) order_.push_back(i);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](uint32_t a, uint32_t b) { return found.weights[a] > found.weights[b]; });
    most_ = static_cast<size_t>(std::floor(found.rate / kGoodEnough));
    choose(0);
  }

  [[nodiscard]] const std::vector<uint32_t>& best() const { return best_; }

 private:
  void choose(size_t next) {
    if (chosen_.size() > best_.size()) best_ = chosen_;
    if (best_.size() >= most_ || ++trials_ > kMaxTrials) return;
    for (size_t i = next; i < order_.size(); ++i) {
      if (chosen_.size() + (order_.size() - i) <= best_.size()) return;
      if (!use(order_[i], 1)) continue;
      chosen_.push_back(order_[i]);
      choose(i + 1);
      chosen_.pop_back();
      use(order_[i], -1);
      if (best_.size() >= most_ || trials_ > kMaxTrials) return;
    }
  }

  bool use(uint32_t tree, int64_t amount) {
    const auto& parent = found_.parents[tree];
    for (uint32_t v = 0; v < parent.size(); ++v) {
      if (v != root_ && left_[parent[v]][v] < amount) return false;
    }
    for (uint32_t v = 0; v < parent.size(); ++v) {
      if (v != root_) left_[parent[v]][v] -= amount;
    }
    return true;
  }

  std::vector<std::vector<int64_t>> left_;
  uint32_t root_;
  const Found& found_;
  std::vector<uint32_t> order_;
  std::vector<uint32_t> chosen_;
  std::vector<uint32_t> best_;
  size_t most_ = 0;
  uint32_t trials_ = 0;
};

}  // namespace

MinArborescence min_arborescence(const std::vector<std::vector<double>>& length, uint32_t root) {
  MinArborescence tree{shortest(length, root), 0};
  tree.parent[root] = kNoParent;
  for (uint32_t v = 0; v < length.size(); ++v) {
    if (v != root) tree.length += length[tree.parent[v]][v];
  }
  return tree;
}

std::vector<Tree> blink_trees(const Graph& given, uint32_t root, double& gbps) {
  std::vector<int64_t> demand(given.num_ranks, 0);
  demand[root] = 1;
  Graph graph = given;
  if (graph.num_nodes() > graph.num_ranks) {
    demand[root] = boost::rational_cast<int64_t>(least_cut(given, demand).rate);
    graph = without_switches(given, demand);
  }
  const Found found = multiplicative_weights(graph, root);
  const std::vector<uint32_t> whole = Choice(graph, root, found).best();
  std::vector<Tree> trees;
  double unit = graph.unit_gbps;
  if (static_cast<double>(whole.size()) >= kGoodEnough * found.rate) {
    for (const uint32_t i : whole) trees.push_back({root, found.parents[i], 1});
  } else {
    unit /= kWeightSteps;
    for (size_t i = 0; i < found.parents.size(); ++i) {
      const auto steps = static_cast<int64_t>(std::floor(found.weights[i] * kWeightSteps));
      if (steps > 0) trees.push_back({root, found.parents[i], steps});
    }
  }
  gbps = 0;
  for (const Tree& tree : trees) gbps += static_cast<double>(tree.weight) * unit;
  return trees;
}

}  // namespace tutti::plan::packing
