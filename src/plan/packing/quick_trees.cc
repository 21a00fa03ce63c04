#include "plan/packing/quick_trees.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <span>
#include <tuple>
#include <utility>

#include "topo/router.h"

namespace tutti::plan::packing {
namespace {

// Trees are hung anew with the loads of all others known; after this often little changes.
constexpr int kQuickRounds = 3;
// What a tree pays for the time that it takes on links, in times of that: with nothing it is as
// quick as can be and takes several narrow links where one would do; as much as there are trees is
// what all of them lose if each does so.
constexpr double kPrices[] = {0, 0.25, 1};

struct QuickWay {
  std::vector<topo::LinkId> links;  // none: not to be had
  double latency_ns = 0;
  double inverse_gbps = 0;  // of all links, summed
};

// Grows trees one after the other. In each the next rank is the one that has the data first: its
// parent's time, the latency, and on each link of the way the messages that it has to carry before;
// and `price` times what the way takes of its links.
class QuickGrower {
 public:
  QuickGrower(const QuickRequest& request, double share_bytes, double price)
      : price_(price),
        kind_(request.collective.kind),
        num_ranks_(request.collective.num_ranks),
        busy_ns_(request.topology.links.size(), 0) {
    share_bytes_ = share_bytes;
    for (const topo::Link& link : request.topology.links) {
      carry_ns_.push_back(share_bytes / link.gbps);
    }
    topo::Router router(request.topology);
    ways_.resize(size_t{num_ranks_} * num_ranks_);
    for (uint32_t a = 0; a < num_ranks_; ++a) {
      for (uint32_t b = 0; b < num_ranks_; ++b) {
        if (a == b) continue;
        const auto route = router.route(Rank{a}, Rank{b});
        if (route) ways_[place(a, b)] = way_of(request, *route);
      }
    }
  }

  // Empty where some rank is not reached.
  std::vector<Tree> grow(const std::vector<uint32_t>& roots) {
    std::vector<Tree> trees(roots.size());
    for (int round = 0; round < kQuickRounds; ++round) {
      for (size_t t = 0; t < roots.size(); ++t) {
        if (round > 0) forget(trees[t]);
        if (!hang(roots[t], trees[t])) return {};
      }
    }
    return trees;
  }

 private:
  [[nodiscard]] size_t place(uint32_t from, uint32_t to) const {
    return size_t{from} * num_ranks_ + to;
  }

  static QuickWay way_of(const QuickRequest& request, std::span<const topo::LinkId> route) {
    QuickWay found;
    for (const topo::LinkId link : route) {
      if (!request.fabric.is_used[link.value]) return {};
      found.links.push_back(link);
      found.latency_ns += request.topology.links[link.value].latency_ns;
      found.inverse_gbps += 1 / request.topology.links[link.value].gbps;
    }
    return found;
  }

  enum class Course : uint8_t { kDown, kUp };

  // Sums may go up by other edges than those by which results come down.
  bool hang(uint32_t root, Tree& tree) {
    tree = {};
    tree.root = root;
    const bool goes_up = is_reducing(kind_);
    const bool goes_both = kind_ == CollectiveKind::kAllReduce;
    tree.parent = parents_from(root, goes_up ? Course::kUp : Course::kDown);
    if (!goes_both || tree.parent.empty()) return !tree.parent.empty();
    tree.up = std::exchange(tree.parent, parents_from(root, Course::kDown));
    return !tree.parent.empty();
  }
  void forget(const Tree& tree) {
    const bool goes_up = is_reducing(kind_);
    for (uint32_t r = 0; r < num_ranks_; ++r) {
      if (r == tree.root) continue;
      if (goes_up) count_edge(way(tree.up_parent(r), r, Course::kUp), -1);
      if (!goes_up || !tree.up.empty()) count_edge(way(tree.parent[r], r, Course::kDown), -1);
    }
  }

  [[nodiscard]] const QuickWay& way(uint32_t parent, uint32_t child, Course course) const {
    return ways_[course == Course::kDown ? place(parent, child) : place(child, parent)];
  }

  // How long after the parent the child is served, or the other way round.
  [[nodiscard]] double takes_ns(const QuickWay& taken) const {
    if (taken.links.empty()) return std::numeric_limits<double>::infinity();
    double longest = 0;
    for (const topo::LinkId link : taken.links) {
      longest = std::max(longest, busy_ns_[link.value] + carry_ns_[link.value]);
    }
    return taken.latency_ns + longest;
  }
  [[nodiscard]] double price_of(const QuickWay& taken) const {
    return price_ * share_bytes_ * taken.inverse_gbps;
  }
  void count_edge(const QuickWay& taken, double sign) {
    for (const topo::LinkId link : taken.links) {
      busy_ns_[link.value] += sign * carry_ns_[link.value];
    }
  }

  // One rank that could be hung next, and what that costs. While a tree grows links only become
  // busier, so an offer that still costs what it did when it was made is the least of all.
  struct Offer {
    double cost = 0;
    uint32_t parent_turn = 0;  // how many were reached before the parent: settles what is equal
    uint32_t child = 0;
    bool operator>(const Offer& other) const {
      return std::tie(cost, parent_turn, child) >
             std::tie(other.cost, other.parent_turn, other.child);
    }
  };

  // Empty where some rank is not reached.
  std::vector<uint32_t> parents_from(uint32_t root, Course course) {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    std::vector<uint32_t> parents(num_ranks_, kNoParent);
    std::vector<double> at(num_ranks_, kNever);
    std::vector<uint32_t> reached;
    std::priority_queue<Offer, std::vector<Offer>, std::greater<>> offers;
    const auto cost_of = [&](uint32_t turn, uint32_t child) {
      const QuickWay& edge = way(reached[turn], child, course);
      return at[reached[turn]] + takes_ns(edge) + price_of(edge);
    };
    const auto reach = [&](uint32_t rank, double ns) {
      at[rank] = ns;
      const auto turn = static_cast<uint32_t>(reached.size());
      reached.push_back(rank);
      for (uint32_t child = 0; child < num_ranks_; ++child) {
        if (at[child] == kNever) offers.push({cost_of(turn, child), turn, child});
      }
    };
    reach(root, 0);
    while (reached.size() < num_ranks_) {
      if (offers.empty() || offers.top().cost == kNever) return {};
      const Offer offer = offers.top();
      offers.pop();
      if (at[offer.child] != kNever) continue;
      const double cost = cost_of(offer.parent_turn, offer.child);
      if (cost > offer.cost) {
        offers.push({cost, offer.parent_turn, offer.child});
        continue;
      }
      const uint32_t parent = reached[offer.parent_turn];
      const QuickWay& edge = way(parent, offer.child, course);
      const double ns = at[parent] + takes_ns(edge);
      parents[offer.child] = parent;
      count_edge(edge, 1);
      reach(offer.child, ns);
    }
    return parents;
  }

  double price_;
  double share_bytes_ = 0;
  CollectiveKind kind_;
  uint32_t num_ranks_;
  std::vector<double> carry_ns_;  // by link: a share over it
  std::vector<double> busy_ns_;   // by link: all shares that are to pass it
  std::vector<QuickWay> ways_;
};

}  // namespace

std::vector<std::vector<Tree>> quick_trees(const QuickRequest& request) {
  const Collective& collective = request.collective;
  const auto bytes = static_cast<double>(request.bytes);
  std::vector<std::vector<Tree>> sets;
  const auto add = [&](const std::vector<uint32_t>& roots, double price) {
    const auto count = static_cast<double>(roots.size());
    std::vector<Tree> trees = QuickGrower(request, bytes / count, price * count).grow(roots);
    if (!trees.empty()) sets.push_back(std::move(trees));
  };
  if (is_rooted(collective.kind)) {
    for (const double price : kPrices) add({collective.root}, price);
    return sets;
  }
  std::vector<uint32_t> all;
  for (uint32_t r = 0; r < collective.num_ranks; ++r) all.push_back(r);
  for (const double price : kPrices) add(all, price);
  if (collective.kind != CollectiveKind::kAllReduce) return sets;
  const auto with_all = static_cast<std::ptrdiff_t>(sets.size());
  for (const uint32_t r : all) add({r}, 0);
  const auto is_shallower = [](const std::vector<Tree>& a, const std::vector<Tree>& b) {
    return max_depth(a) < max_depth(b);
  };
  // Of those with one root a shallowest one.
  const auto first_alone = sets.begin() + with_all;
  if (first_alone != sets.end()) {
    std::iter_swap(first_alone, std::min_element(first_alone, sets.end(), is_shallower));
    sets.erase(first_alone + 1, sets.end());
  }
  return sets;
}

}  // namespace tutti::plan::packing
