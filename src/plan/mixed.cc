#include "plan/mixed.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/try.h"
#include "plan/packed.h"
#include "plan/packing/tree_schedule.h"
#include "sim/simulate.h"

namespace tutti::plan {
namespace {

using packing::Tree;

constexpr std::string_view kMixed = "mixed";
// Trees' weights are whole numbers: each kind's are multiplied by up to this to meet the split.
constexpr int64_t kMaxFactor = 64;
// Bounds the time of a trial, as for packed trees.
constexpr uint64_t kMaxMixedSteps = 200'000;
// Around what the model says: it knows nothing of how the two share devices.
constexpr double kNearby[] = {0.9, 0.75, 0.5, 1.1};

int64_t shares_of(const std::vector<Tree>& trees, const Collective& collective) {
  int64_t all = 0;
  for (const Tree& tree : trees) all += tree.weight;
  const bool by_root = collective.kind == CollectiveKind::kAllGather ||
                       collective.kind == CollectiveKind::kReduceScatter;
  return by_root ? all / collective.num_ranks : all;
}

// Both together, the slow ones with about `fraction` of all shares; `fraction` becomes exact.
std::vector<Tree> joined(const MixedPlan& plan, const Collective& collective, double& fraction) {
  const int64_t fast = shares_of(plan.fast.trees, collective);
  const int64_t slow = shares_of(plan.slow.trees, collective);
  int64_t best_a = 1;
  int64_t best_b = 0;
  const auto part = [&](int64_t a, int64_t b) {
    return static_cast<double>(b * slow) / static_cast<double>(a * fast + b * slow);
  };
  for (int64_t a = 1; a <= kMaxFactor; ++a) {
    for (int64_t b = 1; b <= kMaxFactor; ++b) {
      const bool is_nearer =
          std::abs(part(a, b) - fraction) < std::abs(part(best_a, best_b) - fraction) - 1e-3;
      if (is_nearer) std::tie(best_a, best_b) = std::pair(a, b);
    }
  }
  fraction = part(best_a, best_b);
  std::vector<Tree> trees;
  for (Tree tree : plan.fast.trees) {
    tree.weight *= best_a;
    trees.push_back(std::move(tree));
  }
  for (Tree tree : plan.slow.trees) {
    if (best_b == 0) break;
    tree.weight *= best_b;
    trees.push_back(std::move(tree));
  }
  return trees;
}

class Mixer {
 public:
  Mixer(const Collective& collective, const topo::Topology& topology, uint64_t bytes)
      : collective_(collective), topology_(topology), bytes_(bytes) {}

  // Fills in the fastest of the mixes that the model asks for, and of some beside it.
  Status mix(std::span<const uint32_t> choices, MixedPlan& plan) {
    for (const uint32_t chunks : choices) {
      const uint64_t edges = plan.fast.trees.size() + plan.slow.trees.size();
      const uint64_t steps = 4 * edges * collective_.num_ranks * chunks;
      if (plan.chunks != 0 && steps > kMaxMixedSteps) break;
      TUTTI_ASSIGN(const Affine fast, measure(plan.fast.trees, chunks));
      TUTTI_ASSIGN(const Affine slow, measure(plan.slow.trees, chunks));
      const double fraction = split_fraction(fast, slow, bytes_);
      TUTTI_TRY(consider(fraction, chunks, plan));
      if (plan.chunks == chunks) plan.model_fraction = fraction;
    }
    const double model = plan.model_fraction;
    for (const double factor : kNearby) TUTTI_TRY(consider(model * factor, plan.chunks, plan));
    return {};
  }

 private:
  Result<double> simulate(const ir::Schedule& schedule, uint64_t bytes) const {
    sim::Options options;
    options.bytes = bytes;
    options.with_critical_path = false;
    options.with_bound = false;
    TUTTI_ASSIGN(const sim::Report report, sim::simulate(schedule, topology_, options));
    return report.total_ns;
  }

  Result<Affine> measure(const std::vector<Tree>& trees, uint32_t chunks) const {
    TUTTI_ASSIGN(const ir::Schedule schedule,
                 packing::tree_schedule(collective_, trees, {std::string(kMixed), chunks}));
    TUTTI_ASSIGN(const double whole, simulate(schedule, bytes_));
    const uint64_t half_bytes = bytes_ / 2;
    TUTTI_ASSIGN(const double half, simulate(schedule, half_bytes));
    const auto rest = static_cast<double>(bytes_ - half_bytes);
    const double gbps = whole > half ? rest / (whole - half) : 1e9;
    return Affine{std::max(0.0, whole - static_cast<double>(bytes_) / gbps), gbps};
  }

  Status consider(double fraction, uint32_t chunks, MixedPlan& plan) const {
    const std::vector<Tree> trees = joined(plan, collective_, fraction);
    TUTTI_ASSIGN(ir::Schedule schedule,
                 packing::tree_schedule(collective_, trees, {std::string(kMixed), chunks}));
    TUTTI_ASSIGN(const double ns, simulate(schedule, bytes_));
    if (plan.chunks != 0 && ns >= plan.ns) return {};
    plan.schedule = std::move(schedule);
    plan.chunks = chunks;
    plan.ns = ns;
    plan.slow_fraction = fraction;
    return {};
  }

  const Collective& collective_;
  const topo::Topology& topology_;
  uint64_t bytes_;
};

MixedPlan fast_alone(PackedPlan packed, std::string why) {
  MixedPlan plan;
  plan.fast = std::move(packed.packing);
  plan.schedule = std::move(packed.schedule);
  plan.chunks = packed.chunks;
  plan.ns = plan.fast_ns = packed.ns;
  plan.why_alone = std::move(why);
  return plan;
}

}  // namespace

double split_fraction(const Affine& fast, const Affine& slow, uint64_t bytes) {
  const auto n = static_cast<double>(bytes);
  if (n == 0) return 0;
  const double lead = fast.start_ns + n / fast.gbps - slow.start_ns;
  return std::clamp(lead / (n / fast.gbps + n / slow.gbps), 0.0, 1.0);
}

Result<MixedPlan> plan_mixed(const Collective& collective, const topo::Topology& topology,
                             uint32_t chunks, uint64_t bytes) {
  TUTTI_ASSIGN(PackedPlan packed, plan_packed(collective, topology, "packed", chunks, bytes));
  return mix_in_slow(collective, topology, std::move(packed), chunks, bytes);
}

Result<MixedPlan> mix_in_slow(const Collective& collective, const topo::Topology& topology,
                              PackedPlan packed, uint32_t chunks, uint64_t bytes) {
  if (collective.num_ranks == 1) return fast_alone(std::move(packed), "one rank moves nothing");
  if (!packed.packing.fabric.leaves_slow) {
    return fast_alone(std::move(packed), "the trees use all kinds of links already");
  }
  Result<packing::Packing> slow = packing::pack(collective, topology, packing::Method::kSlow);
  if (!slow) {
    return fast_alone(std::move(packed),
                      "messages between most of these ranks take fast links, and the other routes "
                      "do not connect them all");
  }
  MixedPlan plan;
  plan.fast = packed.packing;
  plan.slow = *std::move(slow);
  std::vector<uint32_t> choices = {chunks};
  if (chunks == 0) choices.assign(packed_chunk_choices().begin(), packed_chunk_choices().end());
  TUTTI_TRY(Mixer(collective, topology, bytes).mix(choices, plan));
  plan.fast_ns = packed.ns;
  if (plan.slow_fraction == 0) {
    return fast_alone(std::move(packed), "the slow links would end last");
  }
  if (plan.ns >= packed.ns) return fast_alone(std::move(packed), "in simulation it gains nothing");
  return plan;
}

}  // namespace tutti::plan
