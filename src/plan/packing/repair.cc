#include "plan/packing/repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/invalid.h"
#include "base/try.h"
#include "topo/router.h"

namespace tutti::plan::packing {
namespace {

// Loads are sums of doubles: what is better by less is not better.
constexpr double kGain = 1e-9;
// Every move makes the busiest link less busy, so it ends without this; the bound is on its time.
constexpr uint32_t kMaxRepairMoves = 20'000;

// Rank `child` of a tree hung from `parent`.
struct Move {
  size_t tree = 0;
  uint32_t child = 0;
  uint32_t parent = 0;
  double peak = 0;  // the busiest of the links that it takes
};

class Repairer {
 public:
  Repairer(const Collective& collective, std::vector<Tree> trees, const topo::Topology& topology)
      : collective_(collective),
        topology_(topology),
        router_(topology),
        trees_(std::move(trees)),
        load_(topology.links.size(), 0) {
    for (const Tree& tree : trees_) all_ += static_cast<double>(tree.weight);
    routes_.resize(size_t{collective.num_ranks} * collective.num_ranks);
  }

  Result<Repaired> run() {
    TUTTI_TRY(hang_up());
    Repaired best;
    do {
      while (num_moved_ < kMaxRepairMoves && relieve(busiest())) continue;
      if (rate() > best.routed_gbps * (1 + kGain))
        best = {trees_, rate(), num_moved_, num_dropped_};
    } while (drop_one(busiest()));
    best.trees = merged(std::move(best.trees));
    return best;
  }

 private:
  // The links of a message, empty where there is no way. Found once.
  const std::vector<topo::LinkId>& route(uint32_t from, uint32_t to) {
    auto& known = routes_[size_t{from} * collective_.num_ranks + to];
    if (!known) {
      known.emplace();
      const auto found = router_.route(Rank{from}, Rank{to});
      if (found) known->assign(found->begin(), found->end());
    }
    return *known;
  }

  // What an edge of a tree sends over, downwards, upwards or both.
  void links_of(uint32_t child, uint32_t parent, std::vector<topo::LinkId>& links, bool& has_way) {
    links.clear();
    has_way = true;
    const auto add = [&](uint32_t from, uint32_t to) {
      const auto& way = route(from, to);
      has_way = has_way && !way.empty();
      links.insert(links.end(), way.begin(), way.end());
    };
    const bool goes_up = is_reducing(collective_.kind);
    if (!goes_up || collective_.kind == CollectiveKind::kAllReduce) add(parent, child);
    if (goes_up) add(child, parent);
  }

  static double amount(const Tree& tree) { return static_cast<double>(tree.weight); }
  double busyness(size_t link) const { return load_[link] / topology_.links[link].gbps; }
  double rate() const {
    const double busy = busyness(busiest());
    return busy > 0 ? all_ / busy : 0;
  }

  size_t busiest() const {
    size_t worst = 0;
    for (size_t l = 1; l < load_.size(); ++l) {
      if (busyness(l) > busyness(worst)) worst = l;
    }
    return worst;
  }

  bool is_below(const Tree& tree, uint32_t rank, uint32_t ancestor) const {
    while (rank != kNoParent && rank != ancestor) rank = tree.parent[rank];
    return rank == ancestor;
  }

  // The best place for a child whose edge is not counted in the loads.
  std::optional<Move> best_place(size_t t, uint32_t child, double limit) {
    const Tree& tree = trees_[t];
    std::optional<Move> best;
    for (uint32_t parent = 0; parent < collective_.num_ranks; ++parent) {
      if (parent == tree.parent[child] || is_below(tree, parent, child)) continue;
      bool has_way = true;
      links_of(child, parent, links_, has_way);
      if (!has_way) continue;
      double peak = 0;
      for (const topo::LinkId link : links_) {
        const double added = load_[link.value] + amount(tree);
        peak = std::max(peak, added / topology_.links[link.value].gbps);
      }
      if (peak < limit) {
        limit = peak;
        best = Move{t, child, parent, peak};
      }
    }
    return best;
  }

  void count(const Tree& tree, uint32_t child, double sign) {
    bool has_way = true;
    links_of(child, tree.parent[child], links_, has_way);
    for (const topo::LinkId link : links_) load_[link.value] += sign * amount(tree);
  }

  // Counts all edges, and finds places for those that have no way.
  Status hang_up() {
    std::vector<std::pair<size_t, uint32_t>> lost;
    for (size_t t = 0; t < trees_.size(); ++t) {
      for (uint32_t r = 0; r < collective_.num_ranks; ++r) {
        if (trees_[t].parent[r] == kNoParent) continue;
        bool has_way = true;
        links_of(r, trees_[t].parent[r], links_, has_way);
        if (has_way) {
          count(trees_[t], r, 1);
        } else {
          lost.emplace_back(t, r);
        }
      }
    }
    for (const auto& [t, child] : lost) {
      const auto place = best_place(t, child, std::numeric_limits<double>::infinity());
      if (!place) {
        return Error{ErrorCode::kUnsupported,
                     fmt::format("{} (rank {}) lost its link in a tree and no other rank of it can "
                                 "serve it; plan anew",
                                 topology_.device_of(Rank{child}).name, child)};
      }
      trees_[t].parent[child] = place->parent;
      count(trees_[t], child, 1);
      ++num_moved_;
    }
    return {};
  }

  bool takes(const Tree& tree, uint32_t child, size_t link) {
    if (tree.parent[child] == kNoParent) return false;
    bool has_way = true;
    links_of(child, tree.parent[child], links_, has_way);
    return std::any_of(links_.begin(), links_.end(),
                       [&](topo::LinkId each) { return each.value == link; });
  }

  // Moves the edge off the link that then loads its new links least; false where none can go.
  bool relieve(size_t link) {
    std::optional<Move> best;
    double limit = busyness(link) * (1 - kGain);
    for (size_t t = 0; t < trees_.size(); ++t) {
      for (uint32_t r = 0; r < collective_.num_ranks; ++r) {
        if (!takes(trees_[t], r, link)) continue;
        count(trees_[t], r, -1);
        const auto place = best_place(t, r, limit);
        count(trees_[t], r, 1);
        if (!place) continue;
        best = place;
        limit = place->peak;
      }
    }
    if (!best) return false;
    Tree& tree = trees_[best->tree];
    count(tree, best->child, -1);
    tree.parent[best->child] = best->parent;
    count(tree, best->child, 1);
    ++num_moved_;
    return true;
  }

  void count_all(const Tree& tree, double sign) {
    for (uint32_t r = 0; r < collective_.num_ranks; ++r) {
      if (tree.parent[r] != kNoParent) count(tree, r, sign);
    }
    all_ += sign * amount(tree);
  }

  // Gives up the tree on the link without which the others carry most, be it less than before:
  // where several links are as busy it takes several trees. False at the last one, and for blocks
  // of several ranks, which need as many trees each.
  bool drop_one(size_t link) {
    const bool is_one_block = collective_.kind != CollectiveKind::kAllGather &&
                              collective_.kind != CollectiveKind::kReduceScatter;
    if (!is_one_block || trees_.size() == 1) return false;
    std::optional<size_t> worst;
    double best = 0;
    for (size_t t = 0; t < trees_.size(); ++t) {
      bool is_on_it = false;
      for (uint32_t r = 0; r < collective_.num_ranks; ++r) {
        is_on_it = is_on_it || takes(trees_[t], r, link);
      }
      if (!is_on_it) continue;
      count_all(trees_[t], -1);
      if (rate() > best) {
        best = rate();
        worst = t;
      }
      count_all(trees_[t], 1);
    }
    if (!worst) return false;
    count_all(trees_[*worst], -1);
    trees_.erase(trees_.begin() + static_cast<std::ptrdiff_t>(*worst));
    ++num_dropped_;
    return true;
  }

  const Collective& collective_;
  const topo::Topology& topology_;
  topo::Router router_;
  std::vector<Tree> trees_;
  std::vector<double> load_;  // by link: shares that it carries
  std::vector<std::optional<std::vector<topo::LinkId>>> routes_;
  std::vector<topo::LinkId> links_;  // kept, so that nothing is allocated for each edge
  double all_ = 0;
  uint32_t num_moved_ = 0;
  uint32_t num_dropped_ = 0;
};

bool reaches_root(const Tree& tree, uint32_t rank) {
  for (size_t hops = 0; hops < tree.parent.size(); ++hops) {
    if (rank == tree.root) return true;
    rank = tree.parent[rank];
  }
  return false;
}

bool spans(const Tree& tree, uint32_t num_ranks) {
  const auto is_rank = [&](uint32_t parent) { return parent == kNoParent || parent < num_ranks; };
  const bool is_well_formed = tree.parent.size() == num_ranks && tree.root < num_ranks &&
                              tree.parent[tree.root] == kNoParent &&
                              std::all_of(tree.parent.begin(), tree.parent.end(), is_rank) &&
                              std::count(tree.parent.begin(), tree.parent.end(), kNoParent) == 1;
  for (uint32_t r = 0; is_well_formed && r < num_ranks; ++r) {
    if (!reaches_root(tree, r)) return false;
  }
  return is_well_formed;
}

}  // namespace

Result<Repaired> repair(const Collective& collective, const std::vector<Tree>& trees,
                        const topo::Topology& topology) {
  TUTTI_TRY(topo::check(topology));
  const bool fit = topology.num_ranks() == collective.num_ranks && !trees.empty() &&
                   std::all_of(trees.begin(), trees.end(),
                               [&](const Tree& tree) { return spans(tree, collective.num_ranks); });
  if (!fit) {
    return invalid(fmt::format("these are no trees of {} ranks, which {} has", topology.num_ranks(),
                               topology.name));
  }
  const bool are_pairs =
      std::any_of(trees.begin(), trees.end(), [](const Tree& tree) { return !tree.up.empty(); });
  if (are_pairs) {
    return Error{ErrorCode::kUnsupported,
                 "these trees go up by other links than down, which are not mended; plan anew"};
  }
  return Repairer(collective, unmerged(trees), topology).run();
}

}  // namespace tutti::plan::packing
