#include "plan/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <tuple>

#include "base/try.h"
#include "ir/layout.h"
#include "plan/explain.h"
#include "plan/mixed.h"
#include "plan/packed.h"
#include "plan/synth/greedy_plan.h"
#include "plan/synth/steps/step_plan.h"
#include "sim/simulate.h"
#include "topo/reach.h"
#include "topo/variants.h"

namespace tutti::plan {
namespace {

constexpr uint32_t kChunkChoices[] = {1, 2, 4, 8, 16, 32};
constexpr uint32_t kRadixChoices[] = {2, 4, 8};

// The number of steps beyond this many groups of ranks is estimated: see estimate_steps.
constexpr uint64_t kProbeGroups = 8;
constexpr uint32_t kProbeGroupSize = 8;

// How many consecutive ranks share a machine, if all machines but the last have the same number
// and there are several; 0 elsewhere, which is the algorithm's own choice.
uint32_t ranks_a_machine(const topo::Topology& topology, uint32_t num_ranks) {
  const auto machine = [&](uint32_t rank) { return topology.device_of(Rank{rank}).machine; };
  uint32_t size = 1;
  while (size < num_ranks && machine(size) == machine(0)) ++size;
  for (uint32_t r = 1; r < num_ranks; ++r) {
    const bool same_as_before = machine(r) == machine(r - 1);
    if (same_as_before != (r % size != 0)) return 0;
  }
  return 1 < size && size < num_ranks ? size : 0;
}

std::vector<Candidate> list_candidates(const Collective& collective,
                                       const topo::Topology& topology) {
  std::vector<Candidate> candidates;
  const uint32_t group_size = ranks_a_machine(topology, collective.num_ranks);
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.kind != collective.kind) continue;
    Candidate plain;
    plain.algorithm = &algorithm;
    if (algorithm.takes_group_size) plain.options.group_size = group_size;
    std::vector<Candidate> choices = {plain};
    const auto spread = [&](std::span<const uint32_t> values, uint32_t Options::*field) {
      std::vector<Candidate> wider;
      for (Candidate choice : choices) {
        for (const uint32_t value : values) {
          choice.options.*field = value;
          wider.push_back(choice);
        }
      }
      choices = std::move(wider);
    };
    if (algorithm.takes_chunks) spread(kChunkChoices, &Options::chunks);
    if (algorithm.takes_radix) spread(kRadixChoices, &Options::radix);
    candidates.insert(candidates.end(), choices.begin(), choices.end());
  }
  return candidates;
}

Result<uint64_t> count_steps(const Candidate& candidate, Collective collective,
                             uint32_t num_ranks) {
  collective.num_ranks = num_ranks;
  collective.root = std::min(collective.root, num_ranks - 1);
  collective.peer = std::min(collective.peer, num_ranks - 1);
  TUTTI_ASSIGN(const ir::Schedule schedule,
               make(collective, candidate.algorithm->name, candidate.options));
  return ir::num_steps(schedule);
}

// Steps grow as a power of the number of ranks, or a logarithm more. So the growth from 4 to 8
// groups of ranks tells the power, a little too high, without making a schedule that fills the
// memory. Whole groups, because inside of one the growth is another.
Result<uint64_t> estimate_steps(const Candidate& candidate, const Collective& collective) {
  const uint32_t p = collective.num_ranks;
  const uint64_t probe_ranks =
      kProbeGroups * std::max(candidate.options.group_size, kProbeGroupSize);
  if (p <= probe_ranks) return count_steps(candidate, collective, p);
  const auto many = static_cast<uint32_t>(probe_ranks);
  TUTTI_ASSIGN(const uint64_t half, count_steps(candidate, collective, many / 2));
  TUTTI_ASSIGN(const uint64_t full, count_steps(candidate, collective, many));
  if (half == 0) return full;
  const double power = std::log2(static_cast<double>(full) / static_cast<double>(half));
  const double estimate = static_cast<double>(full) * std::pow(1.0 * p / many, power);
  return static_cast<uint64_t>(std::min(estimate, 1e18));
}

// Packing takes longer the more ranks there are, beyond this more than a moment.
constexpr uint32_t kMaxPackedRanks = 16;

// Messages over slow links share them with many others, which makes a simulation slow: this is on
// the steps of the fast ones alone.
constexpr uint64_t kMaxMixedTrialSteps = 60'000;

// nullptr where there is none of this name.
const Algorithm* topology_algorithm(CollectiveKind kind, std::string_view name) {
  for (const Algorithm& algorithm : topology_algorithms()) {
    if (algorithm.kind == kind && algorithm.name == name) return &algorithm;
  }
  return nullptr;
}

// The candidates that are packed for the topology, and their trees.
struct PackedCandidates {
  std::optional<packing::Packing> packing;
  std::vector<Candidate> candidates;  // one without options where there is no packing, skipped
};

PackedCandidates list_packed(const Collective& collective, const topo::Topology& members) {
  PackedCandidates packed;
  // Blink's trees are never better, only another way to find some.
  if (!packing::is_packed(collective.kind, packing::Method::kExact)) return packed;
  Candidate plain;
  plain.algorithm = topology_algorithm(collective.kind, "packed");
  if (collective.num_ranks > kMaxPackedRanks) {
    plain.skipped =
        fmt::format("auto packs trees for up to {} ranks; ask with --algo packed", kMaxPackedRanks);
    packed.candidates.push_back(plain);
    return packed;
  }
  Result<packing::Packing> packing = pack_for(collective, members, plain.algorithm->name);
  if (!packing) {
    plain.skipped = packing.error().message;
    packed.candidates.push_back(plain);
    return packed;
  }
  packed.packing = *std::move(packing);
  for (const uint32_t chunks : packed_chunk_choices()) {
    plain.options.chunks = chunks;
    packed.candidates.push_back(plain);
  }
  return packed;
}

// Growing trees takes the fourth power of the number of ranks. And large messages have so many
// pieces that trying them takes half a minute for 25 ranks, where these trees are not the best.
constexpr uint32_t kMaxQuickRanks = 64;
constexpr uint32_t kMaxQuickRanksOfLong = 16;
constexpr uint64_t kShortBytes = uint64_t{1} << 20;

std::optional<Candidate> quick_candidate(const Collective& collective, uint64_t bytes) {
  const uint32_t most = bytes <= kShortBytes ? kMaxQuickRanks : kMaxQuickRanksOfLong;
  const bool is_made = packing::is_packed(collective.kind, packing::Method::kExact) &&
                       collective.num_ranks > 1 && collective.num_ranks <= most;
  if (!is_made) return std::nullopt;
  Candidate candidate;
  candidate.algorithm = topology_algorithm(collective.kind, "quick");
  return candidate;
}

// Beyond, their schedules have more steps than a trial should.
constexpr uint32_t kMaxTriedRingRanks = 64;

std::optional<Candidate> rings_candidate(const Collective& collective) {
  const bool is_made = packing::is_packed(collective.kind, packing::Method::kExact) &&
                       collective.num_ranks > 1 && collective.num_ranks <= kMaxTriedRingRanks;
  if (!is_made) return std::nullopt;
  Candidate candidate;
  candidate.algorithm = topology_algorithm(collective.kind, "rings");
  return candidate;
}

// Where bytes count for more than hops, other schedules are faster.
constexpr uint64_t kMaxStepsBytes = uint64_t{64} << 10;

std::optional<Candidate> steps_candidate(const Collective& collective, uint64_t bytes) {
  const bool is_made = steps::is_stepped(collective.kind) && collective.num_ranks > 1 &&
                       collective.num_ranks <= steps::kMaxStepRanks && bytes <= kMaxStepsBytes;
  if (!is_made) return std::nullopt;
  Candidate candidate;
  candidate.algorithm = topology_algorithm(collective.kind, "steps");
  return candidate;
}

std::optional<Candidate> greedy_candidate(const Collective& collective) {
  if (!synth::is_greedy(collective.kind) || collective.num_ranks < 2) return std::nullopt;
  Candidate candidate;
  candidate.algorithm = topology_algorithm(collective.kind, "greedy");
  return candidate;
}

// Among equally fast ones the one with fewer steps, then the order of the catalogue.
bool is_better(const Candidate& a, const Candidate& b) {
  return std::tuple(!a.skipped.empty(), a.ns, a.num_steps) <
         std::tuple(!b.skipped.empty(), b.ns, b.num_steps);
}

// Makes and simulates candidates one after the other, and keeps the fastest.
class Contest {
 public:
  // `members`: the topology with the collective's ranks alone.
  Contest(const Collective& collective, const topo::Topology& topology,
          const topo::Topology& members, const SelectOptions& options)
      : collective_(collective), topology_(topology), members_(members), options_(options) {
    quick_ = options.conditions;
    quick_.with_critical_path = quick_.with_bound = false;
  }

  // Fills in the candidate's steps and time, or why it was skipped.
  void try_catalogue(Candidate& candidate) {
    const Result<uint64_t> expected = estimate_steps(candidate, collective_);
    if (!expected) return skip(candidate, expected.error().message);
    candidate.num_steps = *expected;
    if (candidate.num_steps > options_.max_steps) {
      return skip(candidate, fmt::format("about {:.2g} steps; not tried beyond {}",
                                         static_cast<double>(*expected), options_.max_steps));
    }
    run(candidate, make(collective_, candidate.algorithm->name, candidate.options));
  }

  void try_greedy(Candidate& candidate) {
    candidate.num_steps = synth::num_greedy_steps(collective_, 1);
    if (candidate.num_steps > options_.max_steps) {
      return skip(candidate, fmt::format("at least {} steps; not tried beyond {}",
                                         candidate.num_steps, options_.max_steps));
    }
    synth::GreedyOptions wanted;
    wanted.bytes = options_.conditions.bytes;
    wanted.chunks = 0;
    auto plan = synth::plan_greedy(collective_, members_, wanted);
    if (!plan) return skip(candidate, plan.error().message);
    candidate.options.chunks = plan->chunks;
    run(candidate, std::move(plan->schedule));
  }

  // `quick` and `rings`, with the pieces that are best for the size.
  void try_planned(Candidate& candidate) {
    auto plan =
        plan_packed(collective_, members_, candidate.algorithm->name, 0, options_.conditions.bytes);
    if (!plan) return skip(candidate, plan.error().message);
    candidate.options.chunks = plan->chunks;
    run(candidate, std::move(plan->schedule));
  }

  void try_steps(Candidate& candidate) {
    const steps::StepsOptions wanted{.bytes = options_.conditions.bytes,
                                     .effort = steps::Effort::kLow};
    auto plan = steps::plan_steps(collective_, members_, wanted);
    if (!plan) return skip(candidate, plan.error().message);
    candidate.options.chunks = plan->best.chunks;
    run(candidate, std::move(plan->schedule));
  }

  void try_packed(Candidate& candidate, const packing::Packing& packing, PackedTrials& trials) {
    const uint32_t chunks = candidate.options.chunks;
    candidate.num_steps = trials.num_steps(chunks);
    if (std::string why = trials.refusal(chunks); !why.empty()) {
      return skip(candidate, std::move(why));
    }
    run(candidate, make_packed(collective_, packing, candidate.algorithm->name, chunks));
    if (candidate.skipped.empty()) trials.note(candidate.ns);
  }

  // Where packed trees have won and leave slow links idle: the same with these beside them. None
  // where that cannot be or is not faster.
  std::optional<Candidate> try_mixed(const packing::Packing& packing) {
    Candidate candidate = best_;
    candidate.algorithm = topology_algorithm(collective_.kind, "mixed");
    candidate.num_steps = PackedTrials(packing).num_steps(best_.options.chunks);
    if (candidate.num_steps > kMaxMixedTrialSteps) {
      skip(candidate, fmt::format("more than {} steps; not tried beyond {}; ask with --algo mixed",
                                  candidate.num_steps, kMaxMixedTrialSteps));
      return candidate;
    }
    PackedPlan packed = {packing, winner_, best_.options.chunks, best_.ns};
    auto plan = mix_in_slow(collective_, members_, std::move(packed), best_.options.chunks,
                            options_.conditions.bytes);
    if (!plan || !plan->why_alone.empty()) return std::nullopt;
    run(candidate, std::move(plan->schedule));
    return candidate;
  }

  [[nodiscard]] bool has_winner() const { return best_.algorithm != nullptr; }
  [[nodiscard]] const Candidate& best() const { return best_; }
  // Of the winner, with all that explains it.
  [[nodiscard]] Result<sim::Report> report() const {
    return sim::simulate(winner_, topology_, options_.conditions);
  }
  ir::Schedule take_winner() { return std::move(winner_); }

 private:
  static void skip(Candidate& candidate, std::string why) { candidate.skipped = std::move(why); }

  // What cannot be run here, for want of a route between two ranks as a rule, is not a candidate.
  void run(Candidate& candidate, Result<ir::Schedule> schedule) {
    if (!schedule) return skip(candidate, schedule.error().message);
    candidate.num_steps = ir::num_steps(*schedule);
    if (candidate.num_steps > options_.max_steps) {
      return skip(candidate, fmt::format("{} steps; not tried beyond {}", candidate.num_steps,
                                         options_.max_steps));
    }
    const auto report = sim::simulate(*schedule, topology_, quick_);
    if (!report) return skip(candidate, report.error().message);
    candidate.ns = report->total_ns;
    if (has_winner() && !is_better(candidate, best_)) return;
    best_ = candidate;
    winner_ = *std::move(schedule);
  }

  const Collective& collective_;
  const topo::Topology& topology_;
  const topo::Topology& members_;
  const SelectOptions& options_;
  sim::Options quick_;
  Candidate best_;
  ir::Schedule winner_;
};

}  // namespace

std::string describe(const Candidate& candidate) {
  std::string text(candidate.algorithm->name);
  const auto add = [&](std::string_view option, uint32_t value) {
    if (value != 0) text += fmt::format(", {} {}", option, value);
  };
  add("chunks", candidate.options.chunks);
  add("radix", candidate.options.radix);
  add("group_size", candidate.options.group_size);
  return text;
}

Result<Selection> select(const Collective& collective, const topo::Topology& topology,
                         uint64_t bytes, const SelectOptions& given) {
  TUTTI_TRY(ir::Layout::create(collective, 1));
  TUTTI_TRY(topo::check(topology));
  if (collective.num_ranks > topology.num_ranks()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} has {} ranks, and {} were asked for; take a larger machine",
                             topology.name, topology.num_ranks(), collective.num_ranks)};
  }
  std::vector<Rank> ranks;
  for (uint32_t r = 0; r < collective.num_ranks; ++r) ranks.emplace_back(r);
  TUTTI_ASSIGN(const topo::Topology members, topo::subset(topology, ranks));
  TUTTI_TRY(topo::check_reach(members));
  SelectOptions options = given;
  options.conditions.bytes = bytes;
  options.conditions.trace = nullptr;

  Selection selection;
  std::vector<Candidate>& all = selection.candidates;
  Contest contest(collective, topology, members, options);
  all = list_candidates(collective, topology);
  for (Candidate& candidate : all) contest.try_catalogue(candidate);
  if (auto greedy = greedy_candidate(collective)) {
    contest.try_greedy(*greedy);
    all.push_back(*std::move(greedy));
  }
  if (auto quick = quick_candidate(collective, bytes)) {
    contest.try_planned(*quick);
    all.push_back(*std::move(quick));
  }
  if (auto rings = rings_candidate(collective)) {
    contest.try_planned(*rings);
    all.push_back(*std::move(rings));
  }
  if (auto stepped = steps_candidate(collective, bytes)) {
    contest.try_steps(*stepped);
    all.push_back(*std::move(stepped));
  }
  PackedCandidates packed = list_packed(collective, members);
  if (packed.packing) {
    PackedTrials trials(*packed.packing);
    for (Candidate& each : packed.candidates) contest.try_packed(each, *packed.packing, trials);
  }
  all.insert(all.end(), packed.candidates.begin(), packed.candidates.end());
  if (!contest.has_winner()) {
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("no algorithm of {} can be tried on {} ranks: {}", to_string(collective.kind),
                    collective.num_ranks, all.front().skipped)};
  }
  const bool leaves_slow = packed.packing && packed.packing->fabric.leaves_slow;
  if (leaves_slow && contest.best().algorithm->name == "packed") {
    if (auto mixed = contest.try_mixed(*packed.packing)) all.push_back(*std::move(mixed));
  }
  std::stable_sort(all.begin(), all.end(), is_better);
  TUTTI_ASSIGN(const sim::Report report, contest.report());
  selection.why = explain(all, report);
  selection.schedule = contest.take_winner();
  return selection;
}

}  // namespace tutti::plan
