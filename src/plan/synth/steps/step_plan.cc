#include "plan/synth/steps/step_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/invalid.h"
#include "base/try.h"
#include "ir/builder.h"
#include "sim/simulate.h"

namespace tutti::plan::steps {
namespace {

struct Limits {
  uint32_t attempts;    // of one search
  uint32_t in_vain;     // of these, one after the other
  uint64_t work;        // for one number of steps and chunks
  uint32_t ways;        // to share rounds out, for each number of them
  uint32_t more_steps;  // than the fewest
  uint32_t more;        // ways to do it in the rounds found, to simulate
  std::span<const uint32_t> chunks;
};
constexpr uint32_t kFewChunks[] = {1, 2};
constexpr uint32_t kManyChunks[] = {1, 2, 3, 4, 6};

constexpr uint32_t kFewWays = 3;  // once the work is done
constexpr uint32_t kFewMore = 6;
constexpr uint32_t kAttemptsAtMore = 20;
constexpr uint64_t kSeedApart = 1000;
constexpr uint64_t kNoLimit = UINT64_MAX;

// Up to so many ranks a search takes a millisecond.
constexpr uint32_t kFewRanks = 8;

Limits limits_of(Effort effort, uint32_t num_ranks) {
  if (effort == Effort::kLow) return {8, 8, kNoLimit, 2, 1, 0, kFewChunks};
  if (num_ranks <= kFewRanks) return {100, 100, kNoLimit, 100, 2, 0, kManyChunks};
  return {100, 10, 2'500'000, 12, 2, 40, kManyChunks};
}

// A schedule that sends everything to everyone one by one has no more rounds than this.
uint32_t most_rounds(const StepNetwork& network, const StepDemand& demand, uint32_t num_steps) {
  const uint32_t p = network.num_ranks;
  return num_steps + p * p * demand.chunks;
}

StepDemand demand_of(const Collective& collective, uint32_t chunks) {
  StepDemand demand;
  demand.chunks = chunks;
  if (collective.kind == CollectiveKind::kAllToAll) demand.kind = StepDemand::Kind::kExchange;
  if (is_rooted(collective.kind)) {
    demand.owners = {collective.root};
    return demand;
  }
  demand.owners.resize(collective.num_ranks);
  std::iota(demand.owners.begin(), demand.owners.end(), 0u);
  return demand;
}

class StepsPlanner {
 public:
  StepsPlanner(const Collective& collective, const topo::Topology& topology,
               const StepsOptions& options, StepNetwork network)
      : collective_(collective),
        topology_(topology),
        options_(options),
        limits_(limits_of(options.effort, collective.num_ranks)),
        network_(std::move(network)),
        back_(reversed(network_)) {
    conditions_.bytes = options.bytes;
    conditions_.with_critical_path = conditions_.with_bound = false;
  }

  Result<StepsPlan> run() {
    const StepDemand demand = demand_of(collective_, 1);
    plan_.farthest = farthest_pair(is_reversed() ? back_ : network_, demand);
    std::span<const uint32_t> counts = limits_.chunks;
    if (options_.chunks != 0) counts = std::span(&options_.chunks, 1);
    // Blocks of an exchange take one way each; more of them are only more to route.
    if (collective_.kind == CollectiveKind::kAllToAll && options_.chunks == 0) {
      counts = counts.first(1);
    }
    const uint32_t least = plan_.farthest.num_hops;
    for (uint32_t steps = least; steps <= least + limits_.more_steps; ++steps) {
      for (const uint32_t chunks : counts) TUTTI_TRY(try_steps(steps, chunks));
    }
    if (plan_.best.num_rounds != 0) return std::move(plan_);
    return Error{ErrorCode::kUnsupported,
                 fmt::format("no {} in {} steps was found on {}; --algo quick needs none",
                             to_string(collective_.kind), least, topology_.name)};
  }

 private:
  [[nodiscard]] bool is_reversed() const {
    return collective_.kind == CollectiveKind::kReduce ||
           collective_.kind == CollectiveKind::kReduceScatter;
  }

  Status try_steps(uint32_t steps, uint32_t chunks) {
    const StepDemand demand = demand_of(collective_, chunks);
    const bool goes_both = collective_.kind == CollectiveKind::kAllReduce;
    StepsFound forth;
    StepsFound back;
    if (!is_reversed()) forth = find(network_, demand, steps);
    if (is_reversed() || goes_both) back = find(back_, demand, steps);
    while (true) {
      TUTTI_TRY(judge_all({chunks, steps}, forth, back));
      if (forth.others.empty() && back.others.empty()) return {};
      take_other(forth);
      take_other(back);
    }
  }

  struct Size {
    uint32_t chunks;
    uint32_t num_steps;
  };

  StepsFound find(const StepNetwork& network, const StepDemand& demand, uint32_t steps) {
    StepsFound found = find_in_steps(network, demand, steps, options_.effort);
    ++plan_.num_searches;
    plan_.num_cut_short += found.is_cut_short ? 1 : 0;
    return found;
  }

  static void take_other(StepsFound& found) {
    if (found.others.empty()) return;
    found.num_rounds = found.others.back().num_rounds;
    found.moves = std::move(found.others.back().moves);
    found.others.pop_back();
  }

  Status judge_all(Size size, const StepsFound& forth, const StepsFound& back) {
    const auto [chunks, steps] = size;
    if (is_reversed()) return judge({Shape::kBack, chunks, steps, {}, back.moves}, {&back, 1});
    if (collective_.kind != CollectiveKind::kAllReduce) {
      return judge({Shape::kDirect, chunks, steps, forth.moves, {}}, {&forth, 1});
    }
    TUTTI_TRY(judge({Shape::kAtOnce, chunks, steps, forth.moves, {}}, {&forth, 1}));
    const StepsFound found[] = {forth, back};
    return judge({Shape::kTwice, chunks, 2 * steps, forth.moves, back.moves}, found);
  }

  // Simulates what was found, and keeps it if it is the best.
  Status judge(const StepMoves& moves, std::span<const StepsFound> found) {
    StepsTrial trial{.shape = moves.shape, .num_steps = moves.num_steps, .chunks = moves.chunks};
    bool is_found = true;
    for (const StepsFound& each : found) {
      trial.least_rounds += each.least_rounds;
      trial.num_rounds += each.num_rounds;
      is_found = is_found && each.num_rounds != 0;
    }
    if (!is_found) {
      trial.num_rounds = 0;
      plan_.trials.push_back(trial);
      return {};
    }
    TUTTI_ASSIGN(ir::Schedule schedule, write_steps(collective_, network_, moves));
    TUTTI_ASSIGN(const sim::Report report, sim::simulate(schedule, topology_, conditions_));
    trial.ns = report.total_ns;
    plan_.trials.push_back(trial);
    const bool is_first = plan_.best.num_rounds == 0;
    if (!is_first && trial.ns >= plan_.best.ns) return {};
    plan_.best = trial;
    plan_.schedule = std::move(schedule);
    return {};
  }

  const Collective& collective_;
  const topo::Topology& topology_;
  const StepsOptions& options_;
  Limits limits_;
  StepNetwork network_;
  StepNetwork back_;
  sim::Options conditions_;
  StepsPlan plan_;
};

// One rank has nothing to move.
StepsPlan plan_alone(const Collective& collective) {
  StepsPlan plan;
  ir::Builder b(collective, {.name = "steps"});
  b.add_lane(Rank{0}).copy(ir::input(0), ir::output(0));
  plan.schedule = std::move(b).finish();
  plan.best.chunks = 1;
  return plan;
}

}  // namespace

bool is_stepped(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduce:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll: return true;
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
    case CollectiveKind::kBarrier:
    case CollectiveKind::kSendRecv: return false;
  }
  return false;
}

std::string summary(const StepsPlan& plan, const topo::Topology& topology) {
  const StepsTrial& best = plan.best;
  if (best.num_steps == 0) return "";
  const auto count = [](uint32_t n, std::string_view what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
  };
  std::string text = fmt::format("{}, {}, {} of a block", count(best.num_steps, "step"),
                                 count(best.num_rounds, "round"), count(best.chunks, "chunk"));
  if (best.shape == Shape::kTwice) text += "; half of them up to sums, half down";
  const FarthestPair& far = plan.farthest;
  text += fmt::format("; no schedule has fewer than {}: {} and {} are so many hops apart. ",
                      count(far.num_hops, "step"), topology.device_of(Rank{far.from}).name,
                      topology.device_of(Rank{far.to}).name);
  text += best.num_rounds == best.least_rounds
              ? "In so many steps and chunks none has fewer rounds"
              : fmt::format("In so many steps and chunks {} at least are needed",
                            count(best.least_rounds, "round"));
  if (plan.num_cut_short > 0) {
    text += fmt::format(". {} of {} searches were cut short; longer ones may find fewer rounds",
                        plan.num_cut_short, plan.num_searches);
  }
  return text;
}

StepsFound find_in_steps(const StepNetwork& network, const StepDemand& demand, uint32_t num_steps,
                         Effort effort) {
  const Limits limits = limits_of(effort, network.num_ranks);
  StepsFound found;
  uint64_t work = limits.work;
  Attempts attempts{limits.attempts, limits.in_vain, &work};
  Rounds enough;
  const uint32_t most = most_rounds(network, demand, num_steps);
  found.least_rounds = least_rounds(network, demand, num_steps, most);
  const auto search = [&](uint32_t total) {
    uint32_t num_tried = 0;
    for (const Rounds& rounds : ways_to_share(num_steps, total)) {
      if (num_tried == (work > 0 ? limits.ways : std::min(limits.ways, kFewWays))) break;
      if (!may_suffice(network, demand, rounds)) continue;
      ++num_tried;
      auto moves = find_moves(network, demand, rounds, attempts);
      if (!moves) continue;
      if (found.num_rounds != 0) found.others.push_back({found.num_rounds, std::move(found.moves)});
      found.moves = *std::move(moves);
      found.num_rounds = total;
      enough = rounds;
      return true;
    }
    return false;
  };
  // Ever larger steps up until there is one, then by halves back towards the last that had none.
  uint32_t lacking = found.least_rounds - 1;
  uint32_t more = 0;
  while (lacking < most && !search(found.least_rounds + more)) {
    lacking = found.least_rounds + more;
    more = more == 0 ? 1 : 2 * more;
  }
  while (found.num_rounds > lacking + 1) {
    const uint32_t middle = lacking + (found.num_rounds - lacking) / 2;
    if (!search(middle)) lacking = middle;
  }
  found.is_cut_short = work == 0;
  // Equally many rounds are not equally fast: a few more of the same, and more where that is little
  // work.
  attempts.most = kAttemptsAtMore;
  for (uint32_t seed = 1; seed <= limits.more; ++seed) {
    const bool is_over = work == 0 && seed > kFewMore;
    if (is_over || demand.kind == StepDemand::Kind::kExchange || found.num_rounds == 0) break;
    attempts.seed = seed * kSeedApart;
    auto moves = find_moves(network, demand, enough, attempts);
    if (moves) found.others.push_back({found.num_rounds, *std::move(moves)});
  }
  return found;
}

Result<StepsPlan> plan_steps(const Collective& collective, const topo::Topology& topology,
                             const StepsOptions& options) {
  if (!is_stepped(collective.kind)) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("steps makes all_gather, reduce_scatter, all_reduce, all_to_all, "
                             "broadcast and reduce, not {}",
                             to_string(collective.kind))};
  }
  if (collective.num_ranks != topology.num_ranks()) {
    return invalid(fmt::format("{} has {} ranks, the collective {}", topology.name,
                               topology.num_ranks(), collective.num_ranks));
  }
  TUTTI_ASSIGN(StepNetwork network, step_network(topology));
  if (collective.num_ranks == 1) return plan_alone(collective);
  return StepsPlanner(collective, topology, options, std::move(network)).run();
}

}  // namespace tutti::plan::steps
