#include "plan/quick.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/try.h"
#include "sim/simulate.h"
#include "topo/router.h"

namespace tutti::plan {
namespace {

// What a set of trees takes at best, whatever the pieces.
struct QuickSet {
  packing::Packing packing;
  double carry_ns = 0;    // on its busiest link
  double latency_ns = 0;  // of its longest way
  double hop_ns = 0;      // latency of a message, on average
  double num_messages = 0;

  [[nodiscard]] double least_ns() const { return std::max(carry_ns, latency_ns); }
};

// Latency from the root of a tree to its farthest rank, or back.
double longest_ns(const std::vector<uint32_t>& parent, uint32_t root,
                  const std::vector<double>& to_parent_ns) {
  double longest = 0;
  for (uint32_t r = 0; r < parent.size(); ++r) {
    double ns = 0;
    for (uint32_t at = r; at != root; at = parent[at]) ns += to_parent_ns[at];
    longest = std::max(longest, ns);
  }
  return longest;
}

class QuickPlanner {
 public:
  QuickPlanner(const Collective& collective, const topo::Topology& topology, uint64_t bytes,
               const QuickLimits& limits)
      : collective_(collective), topology_(topology), limits_(limits), router_(topology) {
    conditions_.bytes = bytes;
    conditions_.with_critical_path = conditions_.with_bound = false;
  }

  Result<PackedPlan> run(std::vector<packing::Packing> packings, uint32_t chunks) {
    std::vector<QuickSet> sets;
    for (packing::Packing& packing : packings) sets.push_back(measured(std::move(packing)));
    std::stable_sort(sets.begin(), sets.end(), [](const QuickSet& a, const QuickSet& b) {
      return a.least_ns() < b.least_ns();
    });
    for (QuickSet& set : sets) {
      const bool can_win = best_.chunks == 0 || set.least_ns() * limits_.enough < best_.ns;
      if (can_win || limits_.enough == 0) TUTTI_TRY(try_set(set, chunks));
    }
    return std::move(best_);
  }

 private:
  [[nodiscard]] double edge_ns(uint32_t from, uint32_t to) {
    double ns = 0;
    const auto route = router_.route(Rank{from}, Rank{to});
    for (const topo::LinkId link : *route) ns += topology_.links[link.value].latency_ns;
    return ns;
  }

  // Adds up what the edges of one tree's way cost, and returns the latency of the longest.
  double look_at(const std::vector<uint32_t>& parent, uint32_t root, bool goes_up, QuickSet& set) {
    std::vector<double> to_parent_ns(parent.size(), 0);
    for (uint32_t r = 0; r < parent.size(); ++r) {
      if (r == root) continue;
      to_parent_ns[r] = goes_up ? edge_ns(r, parent[r]) : edge_ns(parent[r], r);
      set.hop_ns += to_parent_ns[r];
      set.num_messages += 1;
    }
    return longest_ns(parent, root, to_parent_ns);
  }

  QuickSet measured(packing::Packing packing) {
    QuickSet set;
    for (const packing::Tree& tree : packing.trees) {
      double ns = 0;
      const bool goes_up = is_reducing(collective_.kind);
      if (goes_up) ns += look_at(tree.up.empty() ? tree.parent : tree.up, tree.root, true, set);
      if (!goes_up || collective_.kind == CollectiveKind::kAllReduce) {
        ns += look_at(tree.parent, tree.root, false, set);
      }
      set.latency_ns = std::max(set.latency_ns, ns);
    }
    set.hop_ns /= std::max(set.num_messages, 1.0);
    if (packing.routed_gbps > 0) {
      set.carry_ns = static_cast<double>(conditions_.bytes) / packing.routed_gbps;
    }
    set.packing = std::move(packing);
    return set;
  }

  // Into so many pieces one would cut a message on one way of that depth: each costs a latency,
  // and the first goes through all hops before the rest.
  [[nodiscard]] static double pieces_for(const QuickSet& set) {
    const double hops = std::max(1.0, static_cast<double>(set.packing.depth) - 1);
    return std::sqrt(set.carry_ns * hops / std::max(set.hop_ns, 1.0));
  }

  [[nodiscard]] bool is_bearable(const QuickSet& set, uint32_t pieces) const {
    const auto& is_used = set.packing.fabric.is_used;
    const auto num_links = std::max<ptrdiff_t>(std::count(is_used.begin(), is_used.end(), true), 1);
    const double on_a_link = set.num_messages / static_cast<double>(num_links);
    return pieces * set.num_messages * on_a_link <= limits_.max_work;
  }

  Status try_set(QuickSet& set, uint32_t chunks) {
    bool is_best = false;
    if (chunks != 0) {
      TUTTI_TRY(simulate(set, chunks, is_best));
    } else {
      TUTTI_TRY(climb(set, is_best));
    }
    if (is_best) best_.packing = std::move(set.packing);
    return {};
  }

  // From what the formula says, twice as many as long as that helps; then the same downwards. What
  // is hardly slower does not end it: shares are not cut evenly.
  Status climb(const QuickSet& set, bool& is_best) {
    const auto choices = packed_chunk_choices();
    size_t start = 0;
    if (limits_.enough > 0) {
      while (start + 1 < choices.size() && choices[start + 1] <= pieces_for(set) &&
             is_bearable(set, choices[start + 1])) {
        ++start;
      }
    }
    TUTTI_ASSIGN(const double first, simulate(set, choices[start], is_best));
    double before = first;
    for (size_t i = start + 1; i < choices.size() && is_bearable(set, choices[i]); ++i) {
      if (is_enough(set)) return {};
      TUTTI_ASSIGN(const double ns, simulate(set, choices[i], is_best));
      if (ns > before && limits_.enough > 0) break;
      before = ns;
    }
    before = first;
    for (size_t i = start; i-- > 0 && !is_enough(set);) {
      TUTTI_ASSIGN(const double ns, simulate(set, choices[i], is_best));
      if (ns > before) break;
      before = ns;
    }
    return {};
  }

  [[nodiscard]] bool is_enough(const QuickSet& set) const {
    return best_.chunks != 0 && best_.ns <= set.least_ns() * limits_.enough;
  }

  Result<double> simulate(const QuickSet& set, uint32_t pieces, bool& is_best) {
    TUTTI_ASSIGN(ir::Schedule schedule, make_packed(collective_, set.packing, "quick", pieces));
    TUTTI_ASSIGN(const sim::Report report, sim::simulate(schedule, topology_, conditions_));
    if (best_.chunks == 0 || report.total_ns < best_.ns) {
      best_.schedule = std::move(schedule);
      best_.chunks = pieces;
      best_.ns = report.total_ns;
      is_best = true;
    }
    return report.total_ns;
  }

  const Collective& collective_;
  const topo::Topology& topology_;
  const QuickLimits& limits_;
  topo::Router router_;
  sim::Options conditions_;
  PackedPlan best_;
};

}  // namespace

Result<PackedPlan> plan_quick(const Collective& collective, const topo::Topology& topology,
                              uint32_t chunks, uint64_t bytes, const QuickLimits& limits) {
  TUTTI_ASSIGN(std::vector<packing::Packing> packings, quick_packings(collective, topology, bytes));
  return QuickPlanner(collective, topology, bytes, limits).run(std::move(packings), chunks);
}

}  // namespace tutti::plan
