#include "verify/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <variant>

#include "verify/event_graph.h"
#include "verify/facts.h"
#include "verify/prove.h"
#include "verify/reachability.h"
#include "verify/replay.h"
#include "verify/rounds.h"

namespace tutti::verify {
namespace {

// Writes down what a replay does.
class Writer final : public Witness {
 public:
  Writer(const Facts& facts, const std::vector<uint32_t>& round_of, History& history);

  void ran(StepNumber step, const std::vector<Value>& result,
           const ContributionSets& sets) override;
  // The messages that were sent and not taken.
  void finish();

 private:
  void lay_out_memory();
  void set_inputs_and_outputs();
  void hear(StepNumber step);
  [[nodiscard]] StepName name(StepNumber step) const {
    return {facts_.rank(step), facts_.ref(step)};
  }
  [[nodiscard]] uint32_t number_of(ContributionSet set, const ContributionSets& sets);
  [[nodiscard]] std::vector<Held> held(const std::vector<Value>& values,
                                       const ContributionSets& sets);

  const Facts& facts_;
  const std::vector<uint32_t>& round_of_;
  History& history_;
  // Handles of sets are of the replay's table or of our own, so sets are told apart by what is in
  // them.
  std::map<ContributionSets::Ranges, uint32_t> set_numbers_;
  std::unordered_map<StepNumber, Message> under_way_;  // by sending step
  ContributionSets own_sets_;
  std::vector<ContributionSet> heard_by_rank_;  // of a barrier
  std::vector<ContributionSet> heard_at_step_;
};

Writer::Writer(const Facts& facts, const std::vector<uint32_t>& round_of, History& history)
    : facts_(facts),
      round_of_(round_of),
      history_(history),
      own_sets_(facts.schedule().collective.num_ranks) {
  static_cast<void>(number_of({}, own_sets_));
  lay_out_memory();
  set_inputs_and_outputs();
}

void Writer::lay_out_memory() {
  const ir::Schedule& schedule = facts_.schedule();
  uint64_t end = 0;
  for (uint32_t r = 0; r < schedule.ranks.size(); ++r) {
    history_.memory.push_back(
        place_memory(schedule, facts_.layout(), history_.placement, Rank{r}, end));
    end = history_.memory.back().end;
  }
  if (schedule.collective.kind != CollectiveKind::kBarrier) return;
  history_.first_heard = end;
  heard_at_step_.resize(facts_.num_steps());
  for (uint32_t r = 0; r < schedule.ranks.size(); ++r) {
    heard_by_rank_.push_back(own_sets_.only(Rank{r}));
    history_.start.push_back({end + r, {ChunkId{0}, number_of(heard_by_rank_[r], own_sets_)}});
    history_.wanted.push_back({end + r, {ChunkId{0}, number_of(own_sets_.all(), own_sets_)}});
  }
}

void Writer::set_inputs_and_outputs() {
  const ir::Layout& layout = facts_.layout();
  for (uint32_t r = 0; r < history_.memory.size(); ++r) {
    const Rank rank{r};
    const RankMemory& memory = history_.memory[r];
    for (uint32_t i = 0; i < layout.num_chunks(rank, ir::Buffer::kInput); ++i) {
      const ChunkId chunk = layout.chunk_at(rank, ir::Buffer::kInput, i);
      history_.start.push_back({memory.address(ir::Buffer::kInput, i),
                                {chunk, number_of(own_sets_.only(rank), own_sets_)}});
    }
    for (uint32_t i = 0; i < layout.num_chunks(rank, ir::Buffer::kOutput); ++i) {
      const ChunkId chunk = layout.chunk_at(rank, ir::Buffer::kOutput, i);
      const ContributionSet wanted = meaning_of(layout, own_sets_, chunk);
      history_.wanted.push_back(
          {memory.address(ir::Buffer::kOutput, i), {chunk, number_of(wanted, own_sets_)}});
    }
  }
}

uint32_t Writer::number_of(ContributionSet set, const ContributionSets& sets) {
  ContributionSets::Ranges ranges = sets.ranges(set);
  const auto [at, is_new] =
      set_numbers_.try_emplace(std::move(ranges), static_cast<uint32_t>(history_.sets.size()));
  if (is_new) history_.sets.push_back(at->first);
  return at->second;
}

std::vector<Held> Writer::held(const std::vector<Value>& values, const ContributionSets& sets) {
  std::vector<Held> all;
  all.reserve(values.size());
  for (const Value& value : values) {
    all.push_back({value.chunk, number_of(value.contributions, sets)});
  }
  return all;
}

void Writer::ran(StepNumber step, const std::vector<Value>& result, const ContributionSets& sets) {
  const ir::Step& its = facts_.step(step);
  const uint32_t round_index = round_of_[step];
  if (history_.rounds.size() <= round_index) history_.rounds.resize(round_index + 1);
  Round& round = history_.rounds[round_index];
  round.steps.push_back(name(step));
  if (ir::receives(its.kind)) {
    const auto message = under_way_.find(facts_.sender(step));
    round.arrived.push_back(std::move(message->second));
    under_way_.erase(message);
  }
  std::vector<Held> values = held(result, sets);
  if (ir::writes_dst(its.kind)) {
    const uint64_t first =
        history_.memory[facts_.rank(step).value].address(its.dst_buffer, its.dst_index);
    for (size_t i = 0; i < values.size(); ++i) round.writes.push_back({first + i, values[i]});
  }
  if (ir::sends(its.kind)) {
    under_way_[step] = {name(step), name(facts_.taker(step)), round_index, std::move(values)};
  }
  if (history_.first_heard) hear(step);
}

// A step has heard what its lane had, what it depends on had, and what its message's sender had.
void Writer::hear(StepNumber step) {
  const Rank rank = facts_.rank(step);
  ContributionSet heard = own_sets_.only(rank);
  const auto add = [&](StepNumber other) {
    heard = own_sets_.unite(heard, heard_at_step_[other]).set;
  };
  const Facts::Lane& lane = facts_.lane(step);
  if (step != lane.begin) add(step - 1);
  const ir::RankProgram& program = facts_.schedule().ranks[rank.value];
  for (ir::StepRef dep : program.deps_of(facts_.step(step))) add(facts_.number(rank, dep));
  if (facts_.sender(step) != kNoStep) add(facts_.sender(step));
  heard_at_step_[step] = heard;
  const ContributionSet now = own_sets_.unite(heard_by_rank_[rank.value], heard).set;
  if (now == heard_by_rank_[rank.value]) return;
  heard_by_rank_[rank.value] = now;
  history_.rounds[round_of_[step]].writes.push_back(
      {*history_.first_heard + rank.value, {ChunkId{0}, number_of(now, own_sets_)}});
}

void Writer::finish() {
  std::map<StepNumber, Message> sorted(std::make_move_iterator(under_way_.begin()),
                                       std::make_move_iterator(under_way_.end()));
  for (auto& [step, message] : sorted) history_.never_taken.push_back(std::move(message));
}

uint64_t count_held(const Facts& facts) {
  uint64_t held = 0;
  for (StepNumber step = 0; step < facts.num_steps(); ++step) {
    const ir::Step& its = facts.step(step);
    const uint64_t times = (ir::writes_dst(its.kind) ? 1 : 0) + (ir::sends(its.kind) ? 1 : 0);
    held += 1 + times * its.num_chunks;
  }
  return held;
}

Result<ir::Placement> choose_placement(const ir::Schedule& schedule,
                                       const std::optional<ir::Placement>& asked,
                                       const std::optional<Refusal>& refusal) {
  const std::vector<ir::Placement> possible = placements_to_prove(schedule);
  if (asked) {
    if (std::find(possible.begin(), possible.end(), *asked) != possible.end()) return *asked;
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("the schedule does not claim to work {}", ir::to_string(*asked))};
  }
  if (refusal && refusal->placement) return *refusal->placement;
  return possible.empty() ? ir::Placement::kOutOfPlace : possible.front();
}

Discipline choose_discipline(const ir::Schedule& schedule, const std::optional<Refusal>& refusal) {
  if (refusal && refusal->discipline) return *refusal->discipline;
  return schedule.slots > 0 ? Discipline::kSlots : Discipline::kLending;
}

// Where each lane stands that has not come to its end.
std::vector<StepName> stuck_steps(const Facts& facts, const EventGraph& graph,
                                  const Rounds& rounds) {
  std::vector<StepName> stuck;
  for (const Facts::Lane& lane : facts.lanes()) {
    for (StepNumber step = lane.begin; step < lane.end; ++step) {
      if (rounds.round_of[graph.event_of(step)] != kNeverRuns) continue;
      stuck.push_back({lane.rank, facts.ref(step)});
      break;
    }
  }
  return stuck;
}

void follow(const Facts& facts, History& history) {
  const EventGraph graph(facts, history.discipline);
  Rounds rounds = find_rounds(graph);
  Reachability reachability(graph, rounds.order);
  // Steps of an event are in its round.
  std::vector<uint32_t> round_of(facts.num_steps());
  for (StepNumber step = 0; step < facts.num_steps(); ++step) {
    round_of[step] = rounds.round_of[graph.event_of(step)];
  }
  Writer writer(facts, round_of, history);
  history.stuck = stuck_steps(facts, graph, rounds);
  const RuleSet rules = history.stuck.empty() ? RuleSet::all() : RuleSet::none();
  history.stopped_by =
      replay({graph, rounds.order, reachability, rules, &writer}, history.placement);
  writer.finish();
}

}  // namespace

Result<History> write_history(const ir::Schedule& schedule, const HistoryOptions& options) {
  History history;
  auto outcome = prove(schedule, RuleSet::all());
  if (auto* refusal = std::get_if<Refusal>(&outcome)) history.refusal = std::move(*refusal);
  const bool is_grammar = history.refusal && (history.refusal->rule == Rule::kShape ||
                                              history.refusal->rule == Rule::kMatching);
  if (is_grammar) return history;
  const Result<Facts> facts = Facts::collect(schedule);
  if (!facts) return facts.error();
  if (const uint64_t held = count_held(*facts); held > options.max_held) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{} chunks are moved, more than the {} that can be written down; take "
                             "fewer ranks or chunks",
                             held, options.max_held)};
  }
  auto placement = choose_placement(schedule, options.placement, history.refusal);
  if (!placement) return placement.error();
  history.placement = *placement;
  history.discipline = choose_discipline(schedule, history.refusal);
  follow(*facts, history);
  return history;
}

}  // namespace tutti::verify
