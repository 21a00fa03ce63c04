#include "verify/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "verify/facts.h"
#include "verify/replay.h"
#include "verify/watch.h"

namespace tutti::verify {
namespace {

// Writes down what a replay does.
class Writer final : public Witness {
 public:
  Writer(const Facts& facts, const Watch& watch, History& history);

  void ran(StepNumber step, const std::vector<Value>& result,
           const ContributionSets& sets) override;
  // The messages that were sent and not taken.
  void finish();

 private:
  void lay_out_memory();
  void set_inputs_and_outputs();
  [[nodiscard]] StepName name(StepNumber step) const {
    return {facts_.rank(step), facts_.ref(step)};
  }
  [[nodiscard]] uint32_t number_of(ContributionSet set, const ContributionSets& sets);
  [[nodiscard]] std::vector<Held> held(const std::vector<Value>& values,
                                       const ContributionSets& sets);

  const Facts& facts_;
  const Watch& watch_;
  History& history_;
  // Handles of sets are of the replay's table or of our own, so sets are told apart by what is in
  // them.
  std::map<ContributionSets::Ranges, uint32_t> set_numbers_;
  std::unordered_map<StepNumber, Message> under_way_;  // by sending step
  ContributionSets own_sets_;
  std::optional<Hearing> hearing_;  // of a barrier
};

Writer::Writer(const Facts& facts, const Watch& watch, History& history)
    : facts_(facts),
      watch_(watch),
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
  hearing_.emplace(facts_);
  for (uint32_t r = 0; r < schedule.ranks.size(); ++r) {
    history_.start.push_back(
        {end + r, {ChunkId{0}, number_of(own_sets_.only(Rank{r}), own_sets_)}});
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
  const uint32_t round_index = watch_.round_of(step);
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
  if (!hearing_) return;
  if (const auto heard = hearing_->ran(step)) {
    round.writes.push_back({*history_.first_heard + facts_.rank(step).value,
                            {ChunkId{0}, number_of(*heard, hearing_->sets())}});
  }
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

}  // namespace

Result<History> write_history(const ir::Schedule& schedule, const HistoryOptions& options) {
  auto course = choose_course(schedule, options.placement);
  if (!course) return course.error();
  History history;
  static_cast<Course&>(history) = *std::move(course);
  if (!can_be_followed(history)) return history;
  const Result<Facts> facts = Facts::collect(schedule);
  if (!facts) return facts.error();
  if (const uint64_t held = count_held(*facts); held > options.max_held) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{} chunks are moved, more than the {} that can be written down; take "
                             "fewer ranks or chunks",
                             held, options.max_held)};
  }
  Watch watch(*facts, history.discipline);
  Writer writer(*facts, watch, history);
  watch.run(writer, history);
  writer.finish();
  return history;
}

Result<uint32_t> count_rounds(const ir::Schedule& schedule) {
  const Result<Facts> facts = Facts::collect(schedule);
  if (!facts) return facts.error();
  const Watch watch(*facts, schedule.slots > 0 ? Discipline::kSlots : Discipline::kLending);
  uint32_t last = 0;
  for (StepNumber step = 0; step < facts->num_steps(); ++step) {
    if (watch.round_of(step) != kNeverRuns) last = std::max(last, watch.round_of(step));
  }
  return last;
}

}  // namespace tutti::verify
