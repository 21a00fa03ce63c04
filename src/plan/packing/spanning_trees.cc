// Edmonds' matroid union. There are `count` forests and a list of link units, each of which is in
// one forest or in none. A unit that is in none enters if some chain of exchanges makes room: it
// takes the place of a unit on the cycle that it closes in one forest, that one does the same in
// another, until one joins two parts of a forest. The shortest chain, found breadth first, keeps
// all forests forests. When no unit can enter any more, the forests hold as much as they can; they
// are spanning trees if that many exist.
#include "plan/packing/spanning_trees.h"

#include <algorithm>

namespace tutti::plan::packing {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

struct Unit {
  uint32_t a;
  uint32_t b;
  uint32_t forest = kNone;
};

// A forest with every part hung from its lowest rank.
struct Forest {
  std::vector<uint32_t> units;
  std::vector<uint32_t> top;      // by rank: the rank its part hangs from
  std::vector<uint32_t> parent;   // kNone at the top
  std::vector<uint32_t> through;  // the unit that leads to the parent
  std::vector<uint32_t> depth;
};

class Forests {
 public:
  Forests(const Graph& graph, uint32_t count) : num_ranks_(graph.num_ranks), forests_(count) {
    const auto least = [&](uint32_t a, uint32_t b) {
      return std::min({graph.capacity[a][b], graph.capacity[b][a], int64_t{count}});
    };
    // By turns, one unit of every pair: forests that fill evenly need fewer exchanges. More units
    // of a pair than trees could never be used: a tree has the pair once.
    for (int64_t turn = 0; turn < count; ++turn) {
      for (uint32_t a = 0; a < num_ranks_; ++a) {
        for (uint32_t b = a + 1; b < num_ranks_; ++b) {
          if (turn < least(a, b)) units_.push_back({a, b});
        }
      }
    }
    for (Forest& forest : forests_) hang(forest);
    const size_t enough = size_t{count} * (num_ranks_ - 1);
    size_t num_inside = 0;
    for (uint32_t unit = 0; unit < units_.size() && num_inside < enough; ++unit) {
      num_inside += insert(unit) ? 1 : 0;
    }
  }

  [[nodiscard]] std::vector<Tree> spanning() const {
    std::vector<Tree> trees;
    for (const Forest& forest : forests_) {
      if (forest.units.size() + 1 < num_ranks_) continue;
      static_assert(kNone == kNoParent);
      trees.push_back({0, forest.parent, 1});
    }
    return trees;
  }

 private:
  void hang(Forest& forest) const {
    forest.top.assign(num_ranks_, kNone);
    forest.parent.assign(num_ranks_, kNone);
    forest.through.assign(num_ranks_, kNone);
    forest.depth.assign(num_ranks_, 0);
    std::vector<std::vector<uint32_t>> at_rank(num_ranks_);
    for (const uint32_t u : forest.units) {
      at_rank[units_[u].a].push_back(u);
      at_rank[units_[u].b].push_back(u);
    }
    std::vector<uint32_t> pending;
    for (uint32_t top = 0; top < num_ranks_; ++top) {
      if (forest.top[top] != kNone) continue;
      forest.top[top] = top;
      pending.push_back(top);
      while (!pending.empty()) {
        const uint32_t at = pending.back();
        pending.pop_back();
        for (const uint32_t u : at_rank[at]) {
          const uint32_t next = units_[u].a == at ? units_[u].b : units_[u].a;
          if (forest.top[next] != kNone) continue;
          forest.top[next] = top;
          forest.parent[next] = at;
          forest.through[next] = u;
          forest.depth[next] = forest.depth[at] + 1;
          pending.push_back(next);
        }
      }
    }
  }

  // The units between two ranks of one part.
  static std::vector<uint32_t> path(const Forest& forest, uint32_t a, uint32_t b) {
    std::vector<uint32_t> units;
    while (a != b) {
      uint32_t& deeper = forest.depth[a] < forest.depth[b] ? b : a;
      units.push_back(forest.through[deeper]);
      deeper = forest.parent[deeper];
    }
    return units;
  }

  bool insert(uint32_t first) {
    std::vector<uint32_t> came_from(units_.size(), kNone);
    std::vector<uint32_t> queue = {first};
    came_from[first] = first;
    for (size_t i = 0; i < queue.size(); ++i) {
      const Unit unit = units_[queue[i]];
      for (uint32_t f = 0; f < forests_.size(); ++f) {
        const Forest& forest = forests_[f];
        if (f == unit.forest) continue;
        if (forest.top[unit.a] != forest.top[unit.b]) {
          exchange(queue[i], f, came_from);
          return true;
        }
        for (const uint32_t on_cycle : path(forest, unit.a, unit.b)) {
          if (came_from[on_cycle] != kNone) continue;
          came_from[on_cycle] = queue[i];
          queue.push_back(on_cycle);
        }
      }
    }
    return false;
  }

  // Each unit of the chain takes the forest that the next one leaves; the last goes to `forest`.
  void exchange(uint32_t last, uint32_t forest, const std::vector<uint32_t>& came_from) {
    for (uint32_t unit = last;; unit = came_from[unit]) {
      std::swap(units_[unit].forest, forest);
      if (came_from[unit] == unit) break;
    }
    for (Forest& each : forests_) each.units.clear();
    for (uint32_t u = 0; u < units_.size(); ++u) {
      if (units_[u].forest != kNone) forests_[units_[u].forest].units.push_back(u);
    }
    for (Forest& each : forests_) hang(each);
  }

  uint32_t num_ranks_;
  std::vector<Forest> forests_;
  std::vector<Unit> units_;
};

}  // namespace

std::vector<Tree> pack_spanning_trees(const Graph& graph, int64_t count) {
  return Forests(graph, static_cast<uint32_t>(count)).spanning();
}

}  // namespace tutti::plan::packing
