// Out-trees. Rank v has one link in for each tree. Two trees may exchange their links into v, or
// one may take a spare link: the load on every link stays within bounds. So all packings of a rate
// are reached by such moves at single ranks. To find one of a given depth they are tried at random,
// also where a tree falls into circles on the way. The cost of a rank that is too deep grows with
// every level (a rank on a circle is as deep as there are ranks); a move that raises the cost is
// kept with a chance that shrinks as the search cools down. If a few searches find nothing, the
// depth above is the answer. That is no proof that there is nothing to find.
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

constexpr uint32_t kMaxTrees = 4096;  // beyond, the trees stay as they are
// Enough that each search finds the least depth of a DGX-1V's six trees every other time.
constexpr uint32_t kNumSearches = 12;
// For every rank of every tree: many while that is quick, then fewer.
constexpr uint64_t kMovesPerLink = 1000;
constexpr uint64_t kManyMoves = 50'000;
constexpr uint64_t kLessMovesPerLink = 200;
constexpr uint64_t kMaxMoves = 300'000;
constexpr double kCostPerLevel = 3;  // times as much as a level above
constexpr double kFirstHeat = 3;
constexpr double kLastHeat = 0.5;

class Search {
 public:
  Search(const Graph& graph, std::vector<Tree> trees, uint32_t target, uint32_t seed)
      : num_ranks_(graph.num_ranks),
        trees_(std::move(trees)),
        spare_(graph.capacity),
        costs_(trees_.size()),
        random_(seed) {
    for (uint32_t hops = 0; hops <= num_ranks_; ++hops) {
      const double above = hops > target ? hops - target : 0;
      cost_of_depth_.push_back(std::pow(kCostPerLevel, above) - 1);
    }
    for (const Tree& tree : trees_) {
      for (uint32_t v = 0; v < num_ranks_; ++v) {
        if (tree.parent[v] != kNoParent) spare_[tree.parent[v]][v] -= tree.weight;
      }
    }
    for (size_t t = 0; t < trees_.size(); ++t) costs_[t] = cost(trees_[t]);
  }

  // Accepts whatever comes, so that the search begins somewhere else: valleys are deep.
  void shake() {
    heat_ = HUGE_VAL;
    for (size_t i = 0; i < 8 * trees_.size() * num_ranks_; ++i) move();
  }

  // The trees if all are shallow enough, else none.
  std::vector<Tree> run(uint32_t num_moves) {
    const auto is_done = [&] {
      return std::all_of(costs_.begin(), costs_.end(), [](double each) { return each == 0; });
    };
    for (uint32_t i = 0; i < num_moves; ++i) {
      heat_ = kFirstHeat * std::pow(kLastHeat / kFirstHeat, 1.0 * i / num_moves);
      if (move() && is_done()) return std::move(trees_);
    }
    return {};
  }

 private:
  [[nodiscard]] double cost(const Tree& tree) const {
    double sum = 0;
    for (uint32_t r = 0; r < num_ranks_; ++r) {
      uint32_t hops = 0;
      for (uint32_t at = r; tree.parent[at] != kNoParent && hops < num_ranks_; ++hops) {
        at = tree.parent[at];
      }
      sum += cost_of_depth_[hops];
    }
    return sum;
  }

  uint32_t below(size_t n) { return static_cast<uint32_t>(random_() % n); }

  bool is_accepted(double change) {
    if (change <= 0) return true;
    const double chance = std::exp(-change / heat_);
    return static_cast<double>(random_()) < chance * static_cast<double>(std::mt19937::max());
  }

  // Whether a tree has become as shallow as it is to be.
  bool move() {
    const uint32_t t = below(trees_.size());
    const uint32_t v = below(num_ranks_);
    if (v == trees_[t].root) return false;
    return below(2) == 0 ? take_spare(t, v, below(num_ranks_))
                         : exchange(t, below(trees_.size()), v);
  }

  bool take_spare(uint32_t t, uint32_t v, uint32_t x) {
    Tree& tree = trees_[t];
    const uint32_t old = tree.parent[v];
    if (x == v || x == old || spare_[x][v] < tree.weight) return false;
    tree.parent[v] = x;
    const double now = cost(tree);
    if (!is_accepted(now - costs_[t])) {
      tree.parent[v] = old;
      return false;
    }
    spare_[old][v] += tree.weight;
    spare_[x][v] -= tree.weight;
    costs_[t] = now;
    return now == 0;
  }

  bool exchange(uint32_t t, uint32_t other, uint32_t v) {
    Tree& a = trees_[t];
    Tree& b = trees_[other];
    if (b.root == v || a.weight != b.weight || a.parent[v] == b.parent[v]) return false;
    std::swap(a.parent[v], b.parent[v]);
    const double cost_a = cost(a);
    const double cost_b = cost(b);
    if (!is_accepted(cost_a + cost_b - costs_[t] - costs_[other])) {
      std::swap(a.parent[v], b.parent[v]);
      return false;
    }
    costs_[t] = cost_a;
    costs_[other] = cost_b;
    return cost_a == 0 || cost_b == 0;
  }

  uint32_t num_ranks_;
  std::vector<Tree> trees_;
  std::vector<std::vector<int64_t>> spare_;
  std::vector<double> costs_;
  std::vector<double> cost_of_depth_;
  double heat_ = 0;
  std::mt19937 random_;
};

// Hops that the farthest rank is away from a root: no tree is shallower.
uint32_t least_depth(const Graph& graph, const std::vector<Tree>& trees) {
  uint32_t most = 0;
  for (const Tree& tree : trees) {
    std::vector<uint32_t> level = {tree.root};
    std::vector<bool> seen(graph.num_ranks, false);
    seen[tree.root] = true;
    for (uint32_t hops = 0; !level.empty(); ++hops) {
      most = std::max(most, hops);
      std::vector<uint32_t> next;
      for (const uint32_t a : level) {
        for (uint32_t b = 0; b < graph.num_ranks; ++b) {
          if (seen[b] || graph.capacity[a][b] == 0) continue;
          seen[b] = true;
          next.push_back(b);
        }
      }
      level = std::move(next);
    }
  }
  return most;
}

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
  std::vector<uint32_t> pending = {0};
  while (!pending.empty()) {
    const uint32_t at = pending.back();
    pending.pop_back();
    for (const uint32_t other : next[at]) {
      if (seen[other]) continue;
      seen[other] = true;
      result.parent[other] = at;
      pending.push_back(other);
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
  const uint64_t num_links = uint64_t{trees.size()} * graph.num_ranks;
  const auto num_moves =
      static_cast<uint32_t>(std::max(std::min(kMovesPerLink * num_links, kManyMoves),
                                     std::min(kLessMovesPerLink * num_links, kMaxMoves)));
  const uint32_t least = least_depth(graph, trees);
  for (uint32_t seed = 0; seed < kNumSearches && max_depth(trees) > least;) {
    Search search(graph, trees, max_depth(trees) - 1, seed);
    if (seed % 2 == 1) search.shake();
    std::vector<Tree> found = search.run(num_moves);
    if (found.empty()) ++seed;
    if (!found.empty()) trees = std::move(found);
  }
  return trees;
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
