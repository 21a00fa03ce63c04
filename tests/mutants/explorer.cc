#include "tests/mutants/explorer.h"

#include <fmt/format.h>

#include <unordered_set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "ir/layout.h"
#include "ir/matching.h"
#include "tests/mutants/cells.h"

namespace tutti::mutants {
namespace {

using ir::kNoStep;
using ir::StepNumber;

struct State {
  std::vector<uint8_t> num_run;         // steps run, by lane
  std::vector<Cell> cells;              // memory
  std::vector<std::vector<Cell>> mail;  // data on its way, by sending step

  [[nodiscard]] std::string key() const {
    std::string key(num_run.begin(), num_run.end());
    const auto append = [&key](const Cell& cell) {
      key.append(reinterpret_cast<const char*>(&cell.number), sizeof cell.number);
      key.append(reinterpret_cast<const char*>(&cell.size), sizeof cell.size);
    };
    for (const Cell& cell : cells) append(cell);
    for (const auto& message : mail) {
      key += static_cast<char>(message.size());
      for (const Cell& cell : message) append(cell);
    }
    return key;
  }
};

struct StepInfo {
  ir::Step step;
  uint32_t rank;
  uint32_t lane;   // among all lanes
  uint32_t index;  // in its lane
  std::vector<StepNumber> after;
  StepNumber taker;
  StepNumber sender;
  uint32_t sequence;
};

class Explorer {
 public:
  Explorer(const ir::Schedule& schedule, const ExploreOptions& options);

  Exploration run();

 private:
  [[nodiscard]] bool lends() const { return options_.movement != Movement::kSlots; }
  [[nodiscard]] bool is_joined(StepNumber s) const {
    return lends() && steps_[s].step.kind == ir::StepKind::kRecvReduceSend;
  }
  [[nodiscard]] bool has_run(const State& state, StepNumber s) const {
    return state.num_run[steps_[s].lane] > steps_[s].index;
  }
  [[nodiscard]] bool is_next(const State& state, StepNumber s) const {
    return state.num_run[steps_[s].lane] == steps_[s].index;
  }
  [[nodiscard]] bool is_complete(const State& state, StepNumber s) const;
  [[nodiscard]] bool has_room(const State& state, StepNumber s) const;
  // The steps that run at one moment, ending with `last`; empty if they cannot run now.
  [[nodiscard]] std::vector<StepNumber> moment(const State& state, StepNumber last) const;
  [[nodiscard]] bool can_run(const State& state, StepNumber s) const;

  // Both return a fault or nothing.
  std::optional<std::string> run_step(State& state, StepNumber s) const;
  std::optional<std::string> store(State& state, StepNumber s, std::vector<Cell>& data) const;
  [[nodiscard]] std::vector<Cell> load(const State& state, uint32_t rank, ir::Region region) const;
  [[nodiscard]] std::vector<Cell> incoming(State& state, StepNumber s) const;
  [[nodiscard]] std::optional<std::string> check_end(const State& state) const;
  [[nodiscard]] std::optional<std::string> check_barrier(const State& state) const;

  const ir::Schedule& schedule_;
  const ExploreOptions& options_;
  const ir::Layout layout_;
  const CellMap map_;
  std::vector<StepInfo> steps_;
  std::vector<uint32_t> lane_rank_;
  std::vector<uint32_t> lane_length_;
  // Sends of each connection in order, to find the message that must leave a slot.
  std::vector<StepNumber> frees_slot_of_;
};

Explorer::Explorer(const ir::Schedule& schedule, const ExploreOptions& options)
    : schedule_(schedule),
      options_(options),
      layout_(ir::Layout::create(schedule.collective, schedule.chunks_per_block).value()),
      map_(schedule, layout_, options.in_place) {
  const ir::StepNumbering numbering(schedule);
  const ir::Matching matching = ir::match_messages(schedule, numbering).value();
  for (uint32_t r = 0; r < schedule.ranks.size(); ++r) {
    for (const ir::Lane& lane : schedule.ranks[r].lanes) {
      const auto lane_number = static_cast<uint32_t>(lane_rank_.size());
      lane_rank_.push_back(r);
      lane_length_.push_back(static_cast<uint32_t>(lane.steps.size()));
      for (uint32_t i = 0; i < lane.steps.size(); ++i) {
        const auto s = static_cast<StepNumber>(steps_.size());
        StepInfo info{
            lane.steps[i],       r, lane_number, i, {}, matching.taker[s], matching.sender[s],
            matching.sequence[s]};
        for (ir::StepRef dep : schedule.ranks[r].deps_of(lane.steps[i])) {
          info.after.push_back(numbering.number(Rank{r}, dep));
        }
        steps_.push_back(std::move(info));
      }
    }
  }
  frees_slot_of_.assign(steps_.size(), kNoStep);
  for (StepNumber a = 0; a < steps_.size(); ++a) {
    for (StepNumber b = 0; b < steps_.size(); ++b) {
      if (steps_[a].taker == kNoStep || steps_[b].taker == kNoStep) continue;
      const bool same_connection =
          steps_[a].lane == steps_[b].lane && steps_[a].step.send_peer == steps_[b].step.send_peer;
      if (same_connection && steps_[b].sequence == steps_[a].sequence + options.slots) {
        frees_slot_of_[b] = steps_[a].taker;
      }
    }
  }
}

Exploration Explorer::run() {
  Exploration result;
  State first{std::vector<uint8_t>(lane_rank_.size()), map_.initial(),
              std::vector<std::vector<Cell>>(steps_.size())};
  std::unordered_set<std::string> seen{first.key()};
  std::vector<State> stack{std::move(first)};
  while (!stack.empty() && !result.fault) {
    const State state = std::move(stack.back());
    stack.pop_back();
    if (++result.num_states > options_.max_states) {
      result.complete = false;
      return result;
    }
    result.fault = check_barrier(state);
    bool moves = false;
    for (StepNumber s = 0; s < steps_.size() && !result.fault; ++s) {
      const std::vector<StepNumber> together = moment(state, s);
      if (together.empty()) continue;
      moves = true;
      State next = state;
      for (StepNumber member : together) {
        if (!result.fault) result.fault = run_step(next, member);
      }
      if (!result.fault && seen.insert(next.key()).second) stack.push_back(std::move(next));
    }
    if (!moves && !result.fault) result.fault = check_end(state);
  }
  return result;
}

bool Explorer::is_complete(const State& state, StepNumber s) const {
  if (!has_run(state, s)) return false;
  return !lends() || steps_[s].taker == kNoStep || has_run(state, steps_[s].taker);
}

bool Explorer::has_room(const State& state, StepNumber s) const {
  return lends() || frees_slot_of_[s] == kNoStep || has_run(state, frees_slot_of_[s]);
}

bool Explorer::can_run(const State& state, StepNumber s) const {
  if (!is_next(state, s) || !has_room(state, s)) return false;
  for (StepNumber dep : steps_[s].after) {
    if (!is_complete(state, dep)) return false;
  }
  const StepNumber sender = steps_[s].sender;
  return sender == kNoStep || is_joined(sender) || has_run(state, sender);
}

std::vector<StepNumber> Explorer::moment(const State& state, StepNumber last) const {
  if (is_joined(last)) return {};
  std::vector<StepNumber> reversed;
  for (StepNumber s = last; s != kNoStep; s = steps_[s].sender) {
    if (s != last && !is_joined(s)) break;
    if (!can_run(state, s)) return {};
    reversed.push_back(s);
  }
  return {reversed.rbegin(), reversed.rend()};
}

std::vector<Cell> Explorer::load(const State& state, uint32_t rank, ir::Region region) const {
  std::vector<Cell> data;
  for (uint32_t i = 0; i < region.count; ++i) {
    data.push_back(state.cells[map_.cell(rank, region.buffer, region.index + i)]);
  }
  return data;
}

// Late lending reads the sender's memory only now; all else has the data on its way.
std::vector<Cell> Explorer::incoming(State& state, StepNumber s) const {
  const StepNumber sender = steps_[s].sender;
  if (options_.movement != Movement::kLendingLate || is_joined(sender)) {
    return std::exchange(state.mail[sender], {});
  }
  const ir::Step& from = steps_[sender].step;
  const bool sends_dst = ir::writes_dst(from.kind);
  return load(state, steps_[sender].rank, sends_dst ? from.dst() : from.src());
}

std::optional<std::string> Explorer::run_step(State& state, StepNumber s) const {
  const StepInfo& info = steps_[s];
  const ir::Step& step = info.step;
  const auto add = [&](std::vector<Cell>& into, const std::vector<Cell>& operand) {
    bool fits = true;
    for (size_t i = 0; i < into.size(); ++i) {
      fits = fits && into[i].size == operand[i].size;
      into[i].number += operand[i].number;
    }
    return fits;
  };
  std::vector<Cell> data;
  bool sizes_agree = true;
  if (ir::receives(step.kind)) data = incoming(state, s);
  if (ir::reads_src(step.kind)) {
    const std::vector<Cell> src = load(state, info.rank, step.src());
    if (ir::receives(step.kind)) {
      sizes_agree = add(data, src);
    } else {
      data = src;
    }
  }
  if (step.kind == ir::StepKind::kReduce) {
    sizes_agree = sizes_agree && add(data, load(state, info.rank, step.dst()));
  }
  if (!sizes_agree) return "operands of different sizes are reduced";
  if (ir::writes_dst(step.kind)) {
    if (auto fault = store(state, s, data)) return fault;
  }
  const bool travels = options_.movement != Movement::kLendingLate || is_joined(s);
  if (ir::sends(step.kind) && travels) state.mail[s] = data;
  ++state.num_run[info.lane];
  return std::nullopt;
}

std::optional<std::string> Explorer::store(State& state, StepNumber s,
                                           std::vector<Cell>& data) const {
  const ir::Region region = steps_[s].step.dst();
  for (uint32_t i = 0; i < region.count; ++i) {
    const uint32_t cell = map_.cell(steps_[s].rank, region.buffer, region.index + i);
    const uint32_t room = map_.room(cell);
    if (room != UINT32_MAX && data[i].size != room)
      return "a chunk is stored where it does not fit";
    state.cells[cell] = data[i];
  }
  return std::nullopt;
}

std::optional<std::string> Explorer::check_end(const State& state) const {
  for (size_t lane = 0; lane < lane_length_.size(); ++lane) {
    if (state.num_run[lane] < lane_length_[lane]) return "it comes to a stop before the end";
  }
  for (uint32_t r = 0; r < schedule_.ranks.size(); ++r) {
    std::unordered_set<uint32_t> outputs;
    for (uint32_t i = 0; i < layout_.num_chunks(Rank{r}, ir::Buffer::kOutput); ++i) {
      const uint32_t cell = map_.cell(r, ir::Buffer::kOutput, i);
      const uint32_t chunk = layout_.chunk_at(Rank{r}, ir::Buffer::kOutput, i).value;
      outputs.insert(cell);
      if (state.cells[cell] == Cell{expected(layout_, chunk), chunk + 1}) continue;
      return fmt::format("output[{}] of rank {} is wrong", i, r);
    }
    for (uint32_t i = 0; i < layout_.num_chunks(Rank{r}, ir::Buffer::kInput); ++i) {
      const uint32_t cell = map_.cell(r, ir::Buffer::kInput, i);
      if (outputs.contains(cell) || state.cells[cell] == map_.initial()[cell]) continue;
      return fmt::format("input[{}] of rank {} was changed", i, r);
    }
  }
  return std::nullopt;
}

std::optional<std::string> Explorer::check_barrier(const State& state) const {
  const uint32_t p = schedule_.collective.num_ranks;
  if (schedule_.collective.kind != CollectiveKind::kBarrier || p == 1) return std::nullopt;
  std::vector<char> entered(p);
  std::vector<char> left(p, true);
  for (size_t lane = 0; lane < lane_rank_.size(); ++lane) {
    if (state.num_run[lane] > 0) entered[lane_rank_[lane]] = true;
    if (state.num_run[lane] < lane_length_[lane]) left[lane_rank_[lane]] = false;
  }
  for (uint32_t a = 0; a < p; ++a) {
    for (uint32_t b = 0; b < p; ++b) {
      if (left[a] && !entered[b]) return fmt::format("rank {} left before rank {} entered", a, b);
    }
  }
  return std::nullopt;
}

}  // namespace

Exploration explore(const ir::Schedule& schedule, const ExploreOptions& options) {
  return Explorer(schedule, options).run();
}

}  // namespace tutti::mutants
