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
#include "plan/packed.h"
#include "sim/simulate.h"
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

// The candidates that are packed for the topology, and their trees.
struct PackedCandidates {
  std::optional<packing::Packing> packing;
  std::vector<Candidate> candidates;  // one without options where there is no packing, skipped
};

PackedCandidates list_packed(const Collective& collective, const topo::Topology& topology) {
  PackedCandidates packed;
  for (const Algorithm& algorithm : topology_algorithms()) {
    // Blink's trees are never better, only another way to find some.
    if (algorithm.kind != collective.kind || algorithm.name != "packed") continue;
    Candidate plain;
    plain.algorithm = &algorithm;
    if (collective.num_ranks > kMaxPackedRanks) {
      plain.skipped = fmt::format("auto packs trees for up to {} ranks; ask with --algo packed",
                                  kMaxPackedRanks);
      packed.candidates.push_back(plain);
      continue;
    }
    std::vector<Rank> ranks;
    for (uint32_t r = 0; r < collective.num_ranks; ++r) ranks.emplace_back(r);
    const auto members = topo::subset(topology, ranks);
    Result<packing::Packing> packing =
        members ? pack_for(collective, *members, algorithm.name) : members.error();
    if (!packing) {
      plain.skipped = packing.error().message;
      packed.candidates.push_back(plain);
      continue;
    }
    packed.packing = *std::move(packing);
    for (const uint32_t chunks : packed_chunk_choices()) {
      plain.options.chunks = chunks;
      packed.candidates.push_back(plain);
    }
  }
  return packed;
}

struct Trial {
  ir::Schedule schedule;
  sim::Report report;
};

Result<std::optional<Trial>> run(Candidate& candidate, Trial trial, const topo::Topology& topology,
                                 const SelectOptions& options) {
  candidate.num_steps = ir::num_steps(trial.schedule);
  if (candidate.num_steps > options.max_steps) {
    candidate.skipped =
        fmt::format("{} steps; not tried beyond {}", candidate.num_steps, options.max_steps);
    return std::optional<Trial>();
  }
  TUTTI_ASSIGN(trial.report, sim::simulate(trial.schedule, topology, options.conditions));
  candidate.ns = trial.report.total_ns;
  return std::optional<Trial>(std::move(trial));
}

// Fills in the candidate's steps and time, or why it was skipped; then there is no trial.
// `packing`: the trees of one that is packed, nullptr for others.
Result<std::optional<Trial>> try_candidate(Candidate& candidate, const Collective& collective,
                                           const topo::Topology& topology,
                                           const SelectOptions& options,
                                           const packing::Packing* packing) {
  if (!candidate.skipped.empty()) return std::optional<Trial>();
  if (packing != nullptr) {
    Trial trial;
    TUTTI_ASSIGN(trial.schedule, make_packed(collective, *packing, candidate.algorithm->name,
                                             candidate.options.chunks));
    return run(candidate, std::move(trial), topology, options);
  }
  const Result<uint64_t> expected = estimate_steps(candidate, collective);
  if (!expected) {
    candidate.skipped = expected.error().message;
    return std::optional<Trial>();
  }
  candidate.num_steps = *expected;
  if (candidate.num_steps > options.max_steps) {
    candidate.skipped = fmt::format("about {:.2g} steps; not tried beyond {}",
                                    static_cast<double>(*expected), options.max_steps);
    return std::optional<Trial>();
  }
  Trial trial;
  TUTTI_ASSIGN(trial.schedule, make(collective, candidate.algorithm->name, candidate.options));
  return run(candidate, std::move(trial), topology, options);
}

// Among equally fast ones the one with fewer steps, then the order of the catalogue.
bool is_better(const Candidate& a, const Candidate& b) {
  return std::tuple(!a.skipped.empty(), a.ns, a.num_steps) <
         std::tuple(!b.skipped.empty(), b.ns, b.num_steps);
}

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
  SelectOptions options = given;
  options.conditions.bytes = bytes;
  options.conditions.trace = nullptr;

  Selection selection;
  selection.candidates = list_candidates(collective, topology);
  const size_t num_plain = selection.candidates.size();
  const PackedCandidates packed = list_packed(collective, topology);
  selection.candidates.insert(selection.candidates.end(), packed.candidates.begin(),
                              packed.candidates.end());
  const Candidate* best = nullptr;
  Trial winner;
  for (size_t i = 0; i < selection.candidates.size(); ++i) {
    Candidate& candidate = selection.candidates[i];
    const packing::Packing* const trees =
        i >= num_plain && packed.packing ? &*packed.packing : nullptr;
    TUTTI_ASSIGN(auto trial, try_candidate(candidate, collective, topology, options, trees));
    if (!trial || (best != nullptr && !is_better(candidate, *best))) continue;
    best = &candidate;
    winner = *std::move(trial);
  }
  if (best == nullptr) {
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("no algorithm of {} can be tried on {} ranks: {}", to_string(collective.kind),
                    collective.num_ranks, selection.candidates.front().skipped)};
  }
  std::stable_sort(selection.candidates.begin(), selection.candidates.end(), is_better);
  selection.why = explain(selection.candidates, winner.report);
  selection.schedule = std::move(winner.schedule);
  return selection;
}

}  // namespace tutti::plan
