// Out-trees. Rank v has one link in for each tree. Two trees may exchange their links into v, or
// one may take a spare link, as long as neither closes a circle: the load on every link stays what
// it was. So all packings of a rate are reached by such moves at single ranks. They are tried at
// random; one that does not raise the cost is kept, and now and then one that does a little
// (annealing), so that the search leaves valleys. The cost counts, for every rank of every tree,
// its depth to a high power: the deepest rank decides.
//
// Undirected trees: a link of one tree is exchanged for a spare link, or two trees exchange two
// links, where that makes the sum of depths smaller.
#include "plan/packing/shallow.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace tutti::plan::packing {
namespace {

constexpr uint32_t kSeed = 20240607;
constexpr uint32_t kMaxTrees = 4096;     // beyond, the trees stay as they are
constexpr uint32_t kMovesPerLink = 400;  // for every rank of every tree
constexpr uint32_t kMaxMoves = 400'000;
constexpr double kFirstHeat = 0.5;  // of the cost of a rank at the greatest depth

// Each level costs as much as several ranks on the level above.
double cost_of_depth(uint32_t depth) { return std::pow(3.0, depth); }

class Search {
 public:
  Search(const Graph& graph, std::vector<Tree> trees)
      : num_ranks_(graph.num_ranks),
        trees_(std::move(trees)),
        spare_(graph.capacity),
        costs_(trees_.size()) {
    for (const Tree& tree : trees_) {
      for (uint32_t v = 0; v < num_ranks_; ++v) {
        if (tree.parent[v] != kNoParent) spare_[tree.parent[v]][v] -= tree.weight;
      }
    }
    for (size_t t = 0; t < trees_.size(); ++t) total_ += costs_[t] = cost(trees_[t]);
  }

  std::vector<Tree> run() && {
    const std::vector<Tree> before = trees_;
    const uint32_t depth_before = max_depth(before);
    best_ = trees_;
    best_cost_ = total_;
    const auto moves = static_cast<uint32_t>(
        std::min<uint64_t>(kMaxMoves, uint64_t{kMovesPerLink} * trees_.size() * num_ranks_));
    const double first_heat = kFirstHeat * cost_of_depth(depth_before);
    for (uint32_t i = 0; i < moves && !is_flat(); ++i) {
      heat_ = first_heat * std::pow(0.01, 1.0 * i / moves);
      move();
      if (total_ < best_cost_) {
        best_cost_ = total_;
        best_ = trees_;
      }
    }
    return max_depth(best_) <= depth_before ? std::move(best_) : before;
  }

 private:
  // Nothing is shallower than stars.
  [[nodiscard]] bool is_flat() const {
    return total_ <= static_cast<double>(trees_.size()) * (1 + cost_of_depth(1) * (num_ranks_ - 1));
  }

  // Infinite when following the parents comes back to where it began.
  [[nodiscard]] double cost(const Tree& tree) const {
    double sum = 0;
    for (uint32_t r = 0; r < num_ranks_; ++r) {
      uint32_t hops = 0;
      for (uint32_t at = r; tree.parent[at] != kNoParent; at = tree.parent[at]) {
        if (++hops >= num_ranks_) return HUGE_VAL;
      }
      sum += cost_of_depth(hops);
    }
    return sum;
  }

  uint32_t below(size_t n) { return static_cast<uint32_t>(random_() % n); }

  bool is_accepted(double change) {
    if (change <= 0) return true;
    const double chance = std::exp(-change / heat_);
    return static_cast<double>(random_()) < chance * static_cast<double>(std::mt19937::max());
  }

  void move() {
    const uint32_t t = below(trees_.size());
    const uint32_t v = below(num_ranks_);
    if (v == trees_[t].root) return;
    if (below(2) == 0) {
      take_spare(t, v, below(num_ranks_));
    } else {
      exchange(t, below(trees_.size()), v);
    }
  }

  void take_spare(uint32_t t, uint32_t v, uint32_t x) {
    Tree& tree = trees_[t];
    const uint32_t old = tree.parent[v];
    if (x == v || x == old || spare_[x][v] < tree.weight) return;
    tree.parent[v] = x;
    const double now = cost(tree);
    if (!is_accepted(now - costs_[t])) {
      tree.parent[v] = old;
      return;
    }
    spare_[old][v] += tree.weight;
    spare_[x][v] -= tree.weight;
    total_ += now - costs_[t];
    costs_[t] = now;
  }

  void exchange(uint32_t t, uint32_t other, uint32_t v) {
    Tree& a = trees_[t];
    Tree& b = trees_[other];
    if (b.root == v || a.weight != b.weight || a.parent[v] == b.parent[v]) return;
    std::swap(a.parent[v], b.parent[v]);
    const double cost_a = cost(a);
    const double cost_b = cost(b);
    if (!is_accepted(cost_a + cost_b - costs_[t] - costs_[other])) {
      std::swap(a.parent[v], b.parent[v]);
      return;
    }
    total_ += cost_a + cost_b - costs_[t] - costs_[other];
    costs_[t] = cost_a;
    costs_[other] = cost_b;
  }

  uint32_t num_ranks_;
  std::vector<Tree> trees_;
  std::vector<std::vector<int64_t>> spare_;
  std::vector<double> costs_;
  double total_ = 0;
  double heat_ = 0;
  std::vector<Tree> best_;
  double best_cost_ = 0;
  std::mt19937 random_{kSeed};
};

using Link = std::pair<uint32_t, uint32_t>;

std::vector<Link> links_of(const Tree& tree) {
  std::vector<Link> links;
  for (uint32_t v = 0; v < tree.parent.size(); ++v) {
    if (tree.parent[v] != kNoParent) links.emplace_back(tree.parent[v], v);
  }
  return links;
}

// The tree with one link taken out and another put in, hung from its middle; empty if it falls
// apart.
Tree with_other_link(const Tree& tree, Link out, Link in) {
  const auto size = static_cast<uint32_t>(tree.parent.size());
  std::vector<std::vector<uint32_t>> next(size);
  std::vector<Link> links = links_of(tree);
  *std::find(links.begin(), links.end(), out) = in;
  for (const auto& [a, b] : links) {
    next[a].push_back(b);
    next[b].push_back(a);
  }
  Tree result{0, std::vector<uint32_t>(size, kNoParent), tree.weight};
  std::vector<bool> seen(size, false);
  seen[0] = true;
  std::vector<uint32_t> todo = {0};
  while (!todo.empty()) {
    const uint32_t at = todo.back();
    todo.pop_back();
    for (const uint32_t other : next[at]) {
      if (seen[other]) continue;
      seen[other] = true;
      result.parent[other] = at;
      todo.push_back(other);
    }
  }
  if (std::find(seen.begin(), seen.end(), false) != seen.end()) return Tree{};
  return centred(result);
}

// What the exchange is to lower: the deepest first, then the sum.
uint64_t weight_of(const Tree& tree) {
  const uint32_t deepest = depth(tree);
  uint64_t sum = uint64_t{deepest} * deepest * 1000;
  for (const uint32_t each : depths(tree)) sum += each;
  return sum;
}

bool take_better_spare(Tree& tree, std::vector<std::vector<int64_t>>& spare) {
  const auto size = static_cast<uint32_t>(tree.parent.size());
  for (const Link& out : links_of(tree)) {
    for (uint32_t a = 0; a < size; ++a) {
      for (uint32_t b = a + 1; b < size; ++b) {
        if (spare[a][b] == 0) continue;
        Tree other = with_other_link(tree, out, {a, b});
        if (other.parent.empty() || weight_of(other) >= weight_of(tree)) continue;
        tree = std::move(other);
        --spare[a][b];
        ++spare[std::min(out.first, out.second)][std::max(out.first, out.second)];
        return true;
      }
    }
  }
  return false;
}

bool exchange_better(Tree& one, Tree& two) {
  const uint64_t before = weight_of(one) + weight_of(two);
  for (const Link& out : links_of(one)) {
    for (const Link& in : links_of(two)) {
      Tree a = with_other_link(one, out, in);
      if (a.parent.empty() || weight_of(a) >= before) continue;
      Tree b = with_other_link(two, in, out);
      if (b.parent.empty() || weight_of(a) + weight_of(b) >= before) continue;
      one = std::move(a);
      two = std::move(b);
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<Tree> made_shallow(const Graph& graph, std::vector<Tree> trees) {
  if (trees.empty() || trees.size() > kMaxTrees) return trees;
  return Search(graph, std::move(trees)).run();
}

std::vector<Tree> made_shallow_undirected(const Graph& graph, std::vector<Tree> trees) {
  std::vector<std::vector<int64_t>> spare(graph.num_ranks,
                                          std::vector<int64_t>(graph.num_ranks, 0));
  for (uint32_t a = 0; a < graph.num_ranks; ++a) {
    for (uint32_t b = a + 1; b < graph.num_ranks; ++b) {
      spare[a][b] = std::min(graph.capacity[a][b], graph.capacity[b][a]);
    }
  }
  for (Tree& tree : trees) {
    for (const auto& [a, b] : links_of(tree)) --spare[std::min(a, b)][std::max(a, b)];
    tree = centred(tree);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (Tree& tree : trees) changed = take_better_spare(tree, spare) || changed;
    for (size_t i = 0; i < trees.size(); ++i) {
      for (size_t j = i + 1; j < trees.size(); ++j) {
        changed = exchange_better(trees[i], trees[j]) || changed;
      }
    }
  }
  return trees;
}

}  // namespace tutti::plan::packing
