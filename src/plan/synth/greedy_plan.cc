#include "plan/synth/greedy_plan.h"

#include <fmt/format.h>

#include <vector>

#include "base/try.h"
#include "ir/layout.h"
#include "ir/sizes.h"
#include "plan/packing/all_to_all_bound.h"
#include "sim/lower_bound.h"
#include "sim/simulate.h"

namespace tutti::plan::synth {
namespace {

// Bounds the time of all trials together, and of one simulation.
constexpr uint64_t kMaxTriedSteps = 100'000;
constexpr uint64_t kMaxSimulatedSteps = 4'000'000;
constexpr uint32_t kTriedChunks[] = {1, 2, 4, 8, 16, 32, 64};
// More than one lane lets a sum be added up while the next comes in. Windows keep links full where
// latency is long beside a chunk; in wide ones messages share links and come late together.
struct Manner {
  Turns turns;
  uint32_t lanes;
};
constexpr Manner kTriedManners[] = {{Turns::kLanes, 1},
                                    {Turns::kLanes, 2},
                                    {Turns::kWindow, 8},
                                    {Turns::kWindow, 32},
                                    {Turns::kWindow, 64}};

Result<GreedyPlan> try_greedy(const Collective& collective, const topo::Topology& topology,
                              const GreedyOptions& options) {
  TUTTI_ASSIGN(GreedySchedule made, make_greedy(collective, topology, options));
  GreedyPlan plan;
  plan.schedule = std::move(made.schedule);
  plan.chunks = options.chunks;
  plan.planned_ns = made.planned_ns;
  if (ir::num_steps(plan.schedule) > kMaxSimulatedSteps) return plan;
  sim::Options conditions;
  conditions.bytes = options.bytes;
  conditions.with_critical_path = false;
  conditions.with_bound = false;
  TUTTI_ASSIGN(const sim::Report report, sim::simulate(plan.schedule, topology, conditions));
  plan.simulated_ns = report.total_ns;
  return plan;
}

std::vector<GreedyOptions> choices_for(const Collective& collective, const GreedyOptions& given) {
  std::vector<GreedyOptions> choices;
  const auto add = [&](uint32_t chunks) {
    const bool is_small = num_greedy_steps(collective, chunks) <= kMaxTriedSteps;
    if (!choices.empty() && !is_small) return;
    GreedyOptions choice = given;
    choice.chunks = chunks;
    if (!is_small) choices.push_back(choice);
    for (const Manner& manner : kTriedManners) {
      choice.lanes = manner.lanes;
      choice.turns = manner.turns;
      if (is_small) choices.push_back(choice);
    }
  };
  if (given.chunks != 0) {
    add(given.chunks);
    return choices;
  }
  for (const uint32_t chunks : kTriedChunks) add(chunks);
  return choices;
}

std::string words_for(const sim::LowerBound& bound, const topo::Topology& topology) {
  if (bound.kind() == sim::BoundKind::kNone) return "nothing moves";
  if (bound.kind() == sim::BoundKind::kLatency) return "the latency of the farthest two ranks";
  switch (bound.cut) {
    case sim::BoundCut::kDevice:
      return fmt::format("what must pass the links of {}",
                         topology.device_of(Rank{bound.cut_index}).name);
    case sim::BoundCut::kMachine:
      return fmt::format("what must pass the border of machine {}", bound.cut_index);
    case sim::BoundCut::kAllDevices: return "what all devices must pass on together";
    case sim::BoundCut::kAllMachines: return "what all machines must pass on together";
    case sim::BoundCut::kNone: break;
  }
  return "nothing moves";
}

}  // namespace

Result<GreedyBound> bound_for(const Collective& collective, const topo::Topology& topology,
                              uint64_t bytes) {
  TUTTI_ASSIGN(const ir::Layout layout, ir::Layout::create(collective, 1));
  std::vector<double> rates;
  for (const topo::Link& link : topology.links) rates.push_back(link.gbps);
  const sim::LowerBound cuts =
      sim::lower_bound(layout, ir::Sizes::even(layout, bytes), 1, topology, rates);
  GreedyBound bound{cuts.ns(), words_for(cuts, topology)};
  if (collective.kind != CollectiveKind::kAllToAll) return bound;
  packing::AllToAllBound ways = packing::all_to_all_bound(topology, bytes);
  if (ways.ns > bound.ns) bound = {ways.ns, std::move(ways.why)};
  return bound;
}

Result<GreedyPlan> plan_greedy(const Collective& collective, const topo::Topology& topology,
                               const GreedyOptions& options) {
  GreedyPlan best;
  for (const GreedyOptions& choice : choices_for(collective, options)) {
    TUTTI_ASSIGN(GreedyPlan plan, try_greedy(collective, topology, choice));
    if (best.chunks == 0 || plan.ns() < best.ns()) best = std::move(plan);
  }
  TUTTI_ASSIGN(GreedyBound bound, bound_for(collective, topology, options.bytes));
  best.bound_ns = bound.ns;
  best.bound = std::move(bound.why);
  return best;
}

}  // namespace tutti::plan::synth
