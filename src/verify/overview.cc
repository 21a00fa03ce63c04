#include "verify/overview.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "verify/facts.h"
#include "verify/meaning.h"
#include "verify/replay.h"
#include "verify/watch.h"

namespace tutti::verify {
namespace {

constexpr uint64_t kMaxPlaces = uint64_t{1} << 28;

// `count` things in at most `most` groups of neighbours: where each begins, and the end.
template <class Number>
std::vector<Number> groups_of(uint64_t count, uint32_t most) {
  const uint64_t groups = std::max<uint64_t>(1, std::min<uint64_t>(count, most));
  std::vector<Number> begins;
  for (uint64_t i = 0; i <= groups; ++i) {
    begins.push_back(static_cast<Number>((i * count + groups - 1) / groups));
  }
  return begins;
}

uint64_t num_columns_of(const ir::Layout& layout) {
  const CollectiveKind kind = layout.collective().kind;
  if (kind == CollectiveKind::kBarrier) return 1;
  if (kind != CollectiveKind::kAllToAll) return layout.num_chunks();
  return layout.num_chunks(Rank{0}, ir::Buffer::kOutput);
}

uint64_t size_of(ContributionSet set, const ContributionSets& sets) {
  if (set.length != ContributionSet::kListed) return set.length;
  uint64_t size = 0;
  for (const auto& range : sets.ranges(set)) size += range.end - range.begin;
  return size;
}

class Summing final : public Witness {
 public:
  Summing(const Facts& facts, const Watch& watch, const OverviewOptions& options,
          Overview& overview);

  void ran(StepNumber step, const std::vector<Value>& result,
           const ContributionSets& sets) override;
  // Ends the round that runs.
  void finish();
  // After the last round: which fields are wrong.
  void judge();

 private:
  void lay_out(const OverviewOptions& options);
  void set_inputs();
  void hold(Rank rank, uint64_t column, uint64_t amount);
  void store(Rank rank, uint64_t address, const Value& value, const ContributionSets& sets);
  void set_right(Rank rank, uint64_t address, bool is_right);
  [[nodiscard]] uint8_t level_of(uint64_t field) const;
  [[nodiscard]] uint32_t field_of(Rank rank, uint64_t column) const {
    const uint64_t columns = overview_.num_columns();
    return static_cast<uint32_t>(row_of(rank) * columns + column * columns / num_columns_);
  }
  [[nodiscard]] uint32_t row_of(Rank rank) const {
    return static_cast<uint32_t>(uint64_t{rank.value} * overview_.num_rows() / num_ranks_);
  }

  const Facts& facts_;
  const Watch& watch_;
  Overview& overview_;
  ContributionSets own_sets_;
  uint32_t num_ranks_;
  uint64_t num_columns_;  // before they are grouped
  uint64_t most_;         // that a rank can hold of a chunk: contributions, or 1
  bool is_all_to_all_;
  std::optional<Hearing> hearing_;

  std::vector<RankMemory> memory_;
  Doings doings_;
  std::vector<uint32_t> held_;        // by rank and column
  std::vector<uint64_t> sums_;        // by field
  std::vector<uint64_t> wholes_;      // the same when everything is there
  std::vector<uint8_t> levels_;       // as they were last told
  std::vector<ChunkId> wanted_;       // by address; kAnyChunk where there is no output
  std::vector<bool> is_right_;        // by address
  std::vector<uint64_t> num_right_;   // by row
  std::vector<uint64_t> told_right_;  // the same as they were last told
  std::vector<uint64_t> touched_;     // fields of this round, with repetitions
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> traffic_;  // of this round
  uint32_t round_index_ = 0;
};

Summing::Summing(const Facts& facts, const Watch& watch, const OverviewOptions& options,
                 Overview& overview)
    : facts_(facts),
      watch_(watch),
      overview_(overview),
      own_sets_(facts.schedule().collective.num_ranks),
      num_ranks_(facts.schedule().collective.num_ranks),
      num_columns_(num_columns_of(facts.layout())),
      doings_(facts, memory_, options.trait_of) {
  const CollectiveKind kind = facts.schedule().collective.kind;
  const bool sums = is_reducing(kind) || kind == CollectiveKind::kBarrier;
  most_ = sums ? num_ranks_ : 1;
  is_all_to_all_ = kind == CollectiveKind::kAllToAll;
  lay_out(options);
  set_inputs();
  overview_.start.resize(levels_.size());
  for (uint64_t field = 0; field < levels_.size(); ++field) {
    overview_.start[field] = levels_[field] = level_of(field);
  }
  overview_.right_at_start = told_right_ = num_right_;
  touched_.clear();
}

void Summing::lay_out(const OverviewOptions& options) {
  overview_.row_begin = groups_of<uint32_t>(num_ranks_, options.max_rows);
  overview_.column_begin = groups_of<uint64_t>(num_columns_, options.max_columns);
  const size_t rows = overview_.row_begin.size() - 1;
  const size_t columns = overview_.column_begin.size() - 1;
  overview_.num_results.resize(rows);
  num_right_.resize(rows);
  held_.resize(num_ranks_ * num_columns_);
  levels_.resize(rows * columns);
  sums_.resize(rows * columns);
  for (size_t row = 0; row < rows; ++row) {
    const uint64_t ranks = overview_.row_begin[row + 1] - overview_.row_begin[row];
    for (size_t column = 0; column < columns; ++column) {
      const uint64_t chunks = overview_.column_begin[column + 1] - overview_.column_begin[column];
      wholes_.push_back(ranks * chunks * most_);
    }
  }
  for (uint32_t r = 0; r < num_ranks_; ++r) {
    const uint64_t end = memory_.empty() ? 0 : memory_.back().end;
    memory_.push_back(
        place_memory(facts_.schedule(), facts_.layout(), overview_.placement, Rank{r}, end));
  }
  wanted_.resize(memory_.back().end, ir::kAnyChunk);
  is_right_.resize(wanted_.size());
}

void Summing::set_inputs() {
  const ir::Layout& layout = facts_.layout();
  for (uint32_t r = 0; r < num_ranks_; ++r) {
    const Rank rank{r};
    for (uint32_t i = 0; i < layout.num_chunks(rank, ir::Buffer::kOutput); ++i) {
      wanted_[memory_[r].address(ir::Buffer::kOutput, i)] =
          layout.chunk_at(rank, ir::Buffer::kOutput, i);
      ++overview_.num_results[row_of(rank)];
    }
    for (uint32_t i = 0; i < layout.num_chunks(rank, ir::Buffer::kInput); ++i) {
      const Value value{layout.chunk_at(rank, ir::Buffer::kInput, i), own_sets_.only(rank)};
      store(rank, memory_[r].address(ir::Buffer::kInput, i), value, own_sets_);
    }
    if (layout.collective().kind == CollectiveKind::kBarrier) {
      ++overview_.num_results[row_of(rank)];
      hold(rank, 0, 1);
      if (num_ranks_ == 1) ++num_right_[0];
    }
  }
  if (layout.collective().kind == CollectiveKind::kBarrier) hearing_.emplace(facts_);
}

void Summing::hold(Rank rank, uint64_t column, uint64_t amount) {
  uint32_t& held = held_[rank.value * num_columns_ + column];
  if (amount <= held) return;
  const uint32_t field = field_of(rank, column);
  sums_[field] += amount - held;
  touched_.push_back(field);
  held = static_cast<uint32_t>(amount);
}

void Summing::store(Rank rank, uint64_t address, const Value& value, const ContributionSets& sets) {
  const bool is_output = wanted_[address] != ir::kAnyChunk;
  const bool is_its_chunk = is_output && wanted_[address] == value.chunk;
  // What an output must hold is one rank's or everybody's: handles of any table can be compared.
  set_right(
      rank, address,
      is_its_chunk && value.contributions == meaning_of(facts_.layout(), own_sets_, value.chunk));
  if (is_all_to_all_) {
    const uint64_t first = memory_[rank.value].address(ir::Buffer::kOutput, 0);
    if (is_its_chunk) hold(rank, address - first, 1);
  } else if (value.chunk != ir::kAnyChunk) {
    hold(rank, value.chunk.value, most_ == 1 ? 1 : size_of(value.contributions, sets));
  }
}

void Summing::set_right(Rank rank, uint64_t address, bool is_right) {
  if (is_right_[address] == is_right) return;
  is_right_[address] = is_right;
  num_right_[row_of(rank)] += is_right ? 1 : -1;
}

uint8_t Summing::level_of(uint64_t field) const {
  if (sums_[field] == 0) return 0;
  if (sums_[field] >= wholes_[field]) return kWholeLevel;
  const double part = static_cast<double>(sums_[field]) / static_cast<double>(wholes_[field]);
  const auto most = static_cast<double>(most_);
  const double height = most_ == 1 ? part : std::log1p(part * most) / std::log1p(most);
  return static_cast<uint8_t>(1 + (kWholeLevel - 2) * height);
}

void Summing::ran(StepNumber step, const std::vector<Value>& result, const ContributionSets& sets) {
  // The replay goes round by round.
  if (watch_.round_of(step) != round_index_) finish();
  round_index_ = watch_.round_of(step);
  if (overview_.rounds.size() <= round_index_) overview_.rounds.resize(round_index_ + 1);
  OverviewRound& round = overview_.rounds[round_index_];
  const ir::Step& its = facts_.step(step);
  const Rank rank = facts_.rank(step);
  ++round.num_steps;
  doings_.ran(step, result, sets, round.doings);
  if (ir::receives(its.kind)) {
    ++round.num_messages;
    ++traffic_[{row_of(its.recv_peer), row_of(rank)}];
  }
  if (ir::writes_dst(its.kind)) {
    const uint64_t first = memory_[rank.value].address(its.dst_buffer, its.dst_index);
    for (size_t i = 0; i < result.size(); ++i) store(rank, first + i, result[i], sets);
  }
  if (!hearing_) return;
  if (const auto heard = hearing_->ran(step)) {
    const uint64_t size = size_of(*heard, hearing_->sets());
    hold(rank, 0, size);
    if (size == num_ranks_) ++num_right_[row_of(rank)];
  }
}

void Summing::finish() {
  if (round_index_ >= overview_.rounds.size()) return;
  OverviewRound& round = overview_.rounds[round_index_];
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
  for (uint64_t field : touched_) {
    const uint8_t level = level_of(field);
    if (level == levels_[field]) continue;
    levels_[field] = level;
    round.changes.push_back({static_cast<uint32_t>(field), level});
  }
  touched_.clear();
  for (const auto& [rows, count] : traffic_) {
    round.traffic.push_back({rows.first, rows.second, count});
  }
  traffic_.clear();
  doings_.end_round();
  for (uint32_t row = 0; row < num_right_.size(); ++row) {
    if (num_right_[row] == told_right_[row]) continue;
    told_right_[row] = num_right_[row];
    round.right.push_back({row, num_right_[row]});
  }
}

void Summing::judge() {
  const bool has_stopped =
      overview_.stopped_by.has_value() && overview_.stopped_by->rule != Rule::kResult;
  if (has_stopped || !overview_.stuck.empty()) return;
  std::vector<uint32_t>& wrong = overview_.wrong_fields;
  for (uint32_t r = 0; r < num_ranks_; ++r) {
    const Rank rank{r};
    if (hearing_ && held_[r] < num_ranks_) wrong.push_back(field_of(rank, 0));
    for (uint32_t i = 0; i < facts_.layout().num_chunks(rank, ir::Buffer::kOutput); ++i) {
      const uint64_t address = memory_[r].address(ir::Buffer::kOutput, i);
      if (!is_right_[address]) {
        wrong.push_back(field_of(rank, is_all_to_all_ ? i : wanted_[address].value));
      }
    }
  }
  std::sort(wrong.begin(), wrong.end());
  wrong.erase(std::unique(wrong.begin(), wrong.end()), wrong.end());
}

uint64_t count_places(const Facts& facts, ir::Placement placement) {
  const uint64_t num_ranks = facts.schedule().collective.num_ranks;
  uint64_t places = num_ranks * num_columns_of(facts.layout());
  for (uint32_t r = 0; r < num_ranks; ++r) {
    places += place_memory(facts.schedule(), facts.layout(), placement, Rank{r}, 0).end;
  }
  return places;
}

}  // namespace

Result<Overview> write_overview(const ir::Schedule& schedule, const OverviewOptions& options) {
  auto course = choose_course(schedule, options.placement);
  if (!course) return course.error();
  Overview overview;
  static_cast<Course&>(overview) = *std::move(course);
  if (!can_be_followed(overview)) return overview;
  const Result<Facts> facts = Facts::collect(schedule);
  if (!facts) return facts.error();
  if (const uint64_t places = count_places(*facts, overview.placement); places > kMaxPlaces) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("the ranks have {} chunks, more than the {} that can be watched; take "
                             "fewer ranks or chunks",
                             places, kMaxPlaces)};
  }
  Watch watch(*facts, overview.discipline);
  Summing summing(*facts, watch, options, overview);
  watch.run(summing, overview);
  summing.finish();
  summing.judge();
  return overview;
}

}  // namespace tutti::verify
