#include "tests/support/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "base/try.h"
#include "ir/layout.h"
#include "ir/shape.h"
#include "tests/support/rank_memory.h"

namespace tutti::test {
namespace {

using ir::Buffer;
using ir::Step;
using ir::StepRef;

struct Chunk {
  std::vector<int64_t> elems;
};
using Payload = std::vector<Chunk>;

// A message under way. Under lending it has no payload: the data is read where it lies when taken.
struct Message {
  Rank from;
  StepRef step;
  std::optional<Payload> payload;
};

class Interpreter {
 public:
  Interpreter(const ir::Schedule& schedule, const ir::Layout& layout, const ir::Sizes& sizes,
              const InterpreterOptions& options)
      : schedule_(schedule),
        layout_(layout),
        sizes_(sizes),
        options_(options),
        random_(options.seed) {
    for (uint32_t r = 0; r < schedule.ranks.size(); ++r) {
      memory_.emplace_back(schedule, layout, sizes, Rank{r}, options.aliasing);
      before_.emplace_back(schedule, layout, sizes, Rank{r}, Aliasing::kOutOfPlace);
      auto& complete = complete_.emplace_back();
      for (const ir::Lane& lane : schedule.ranks[r].lanes) {
        complete.emplace_back(lane.steps.size(), false);
      }
      cursor_.emplace_back(schedule.ranks[r].lanes.size(), 0);
    }
  }

  Status run() {
    std::vector<LaneId> others;
    std::vector<LaneId> all;
    // One rank comes late, after all others have done what they can without it.
    const uint64_t late = options_.seed % schedule_.ranks.size();
    for (uint32_t r = 0; r < schedule_.ranks.size(); ++r) {
      for (uint32_t l = 0; l < schedule_.ranks[r].lanes.size(); ++l) {
        all.emplace_back(r, l);
        if (r != late) others.emplace_back(r, l);
      }
    }
    if (options_.seed % 2 == 1) {
      TUTTI_TRY(run_lanes(others));
      if (schedule_.collective.kind == CollectiveKind::kBarrier) TUTTI_TRY(check_none_left(others));
    }
    TUTTI_TRY(run_lanes(all));
    return check_finished();
  }

  Status compare() {
    for (uint32_t r = 0; r < schedule_.ranks.size(); ++r) {
      TUTTI_TRY(compare_outputs(r));
      TUTTI_TRY(compare_inputs(r));
    }
    return {};
  }

 private:
  using Connection = std::tuple<uint32_t, uint32_t, uint32_t>;
  using LaneId = std::pair<uint32_t, uint32_t>;  // rank, lane

  Status run_lanes(std::vector<LaneId> lanes) {
    bool progressed = true;
    while (progressed) {
      progressed = false;
      std::shuffle(lanes.begin(), lanes.end(), random_);
      for (const auto& [rank, lane] : lanes) {
        // A few steps at a time, so that lanes drift apart.
        for (uint64_t budget = random_() % 3 + 1; budget > 0 && can_run(rank, lane); --budget) {
          TUTTI_TRY(run_step(rank, lane, std::nullopt));
          progressed = true;
        }
      }
    }
    return {};
  }

  // A barrier lets nobody out while someone has not come.
  Status check_none_left(const std::vector<LaneId>& lanes) const {
    for (uint32_t r = 0; r < schedule_.ranks.size(); ++r) {
      const bool waits = std::any_of(lanes.begin(), lanes.end(), [&](const LaneId& id) {
        return id.first == r && current(r, id.second) != nullptr;
      });
      const bool is_late = r == options_.seed % schedule_.ranks.size();
      if (waits || is_late) continue;
      return Error{ErrorCode::kRefused, fmt::format("rank {} left the barrier too early", r)};
    }
    return {};
  }

  const Step* current(uint32_t rank, uint32_t lane) const {
    const auto& steps = schedule_.ranks[rank].lanes[lane].steps;
    const uint32_t at = cursor_[rank][lane];
    return at < steps.size() ? &steps[at] : nullptr;
  }
  Connection incoming(uint32_t rank, uint32_t lane, const Step& step) const {
    return {step.recv_peer.value, rank, schedule_.ranks[rank].lanes[lane].channel};
  }
  Connection outgoing(uint32_t rank, uint32_t lane, const Step& step) const {
    return {rank, step.send_peer.value, schedule_.ranks[rank].lanes[lane].channel};
  }
  bool lending() const { return options_.discipline == Discipline::kLending; }

  bool deps_complete(uint32_t rank, const Step& step) const {
    for (StepRef dep : schedule_.ranks[rank].deps_of(step)) {
      if (!complete_[rank][dep.lane][dep.step]) return false;
    }
    return true;
  }

  // The lane of `rank` that stands at the step which would take the next message of a connection.
  std::optional<uint32_t> lane_ready_to_take(const Connection& connection) {
    const auto [from, to, channel] = connection;
    if (!in_flight_[connection].empty()) return std::nullopt;
    for (uint32_t l = 0; l < schedule_.ranks[to].lanes.size(); ++l) {
      const Step* step = current(to, l);
      if (step == nullptr || !ir::receives(step->kind) || incoming(to, l, *step) != connection) {
        continue;
      }
      if (deps_complete(to, *step) && has_room(to, l, *step)) return l;
    }
    return std::nullopt;
  }

  bool has_room(uint32_t rank, uint32_t lane, const Step& step) {
    if (!ir::sends(step.kind)) return true;
    const Connection connection = outgoing(rank, lane, step);
    if (!lending()) return in_flight_[connection].size() < schedule_.slots;
    // What is kept nowhere can only be handed over.
    if (step.kind == ir::StepKind::kRecvReduceSend) {
      return lane_ready_to_take(connection).has_value();
    }
    return true;
  }

  bool can_run(uint32_t rank, uint32_t lane) {
    const Step* step = current(rank, lane);
    if (step == nullptr || !deps_complete(rank, *step)) return false;
    if (ir::receives(step->kind) && in_flight_[incoming(rank, lane, *step)].empty()) return false;
    return has_room(rank, lane, *step);
  }

  Payload read(uint32_t rank, ir::Region region) {
    Payload payload;
    for (uint32_t i = 0; i < region.count; ++i) {
      const int64_t* elems = memory_[rank].at(region.buffer, region.index + i);
      const uint64_t count = memory_[rank].capacity(region.buffer, region.index + i);
      payload.push_back({std::vector<int64_t>(elems, elems + count)});
    }
    return payload;
  }

  Status write(uint32_t rank, StepRef ref, ir::Region region, const Payload& payload) {
    for (uint32_t i = 0; i < region.count; ++i) {
      const uint64_t capacity = memory_[rank].capacity(region.buffer, region.index + i);
      std::vector<int64_t> elems = payload[i].elems;
      while (elems.size() > capacity && elems.back() == kUnwritten) elems.pop_back();
      if (elems.size() > capacity) {
        return Error{ErrorCode::kRefused,
                     fmt::format("{} writes {} elements into {}", ir::step_name(Rank{rank}, ref),
                                 elems.size(), capacity)};
      }
      // What a longer chunk left behind it in a reused position is no part of this one.
      elems.resize(capacity, kUnwritten);
      std::copy(elems.begin(), elems.end(), memory_[rank].at(region.buffer, region.index + i));
    }
    return {};
  }

  static void add(Payload& into, const Payload& from) {
    for (size_t i = 0; i < into.size(); ++i) {
      auto& elems = into[i].elems;
      const auto& other = from[i].elems;
      elems.resize(std::max(elems.size(), other.size()), kUnwritten);
      for (size_t e = 0; e < other.size(); ++e) {
        const bool both = elems[e] != kUnwritten && other[e] != kUnwritten;
        elems[e] = both ? elems[e] + other[e] : kUnwritten;
      }
    }
  }

  Payload take(const Connection& connection) {
    Message message = std::move(in_flight_[connection].front());
    in_flight_[connection].pop_front();
    complete_[message.from.value][message.step.lane][message.step.step] = true;
    if (message.payload) return *std::move(message.payload);
    const Step& step = schedule_.step(message.from, message.step);
    return read(message.from.value,
                ir::reads_src(step.kind) && !ir::writes_dst(step.kind) ? step.src() : step.dst());
  }

  // `handed`: the message, when a recv_reduce_send hands it over instead of keeping it.
  Status run_step(uint32_t rank, uint32_t lane, std::optional<Payload> handed) {
    const Step& step = *current(rank, lane);
    const StepRef ref{lane, cursor_[rank][lane]++};
    Payload value;
    if (ir::receives(step.kind)) {
      value = handed ? *std::move(handed) : take(incoming(rank, lane, step));
    }
    if (step.kind == ir::StepKind::kReduce) value = read(rank, step.dst());
    if (ir::reduces(step.kind)) {
      add(value, read(rank, step.src()));
    } else if (ir::reads_src(step.kind)) {
      value = read(rank, step.src());
    }
    if (ir::writes_dst(step.kind)) TUTTI_TRY(write(rank, ref, step.dst(), value));
    if (!ir::sends(step.kind)) {
      complete_[rank][ref.lane][ref.step] = true;
      return {};
    }
    return send(rank, ref, std::move(value));
  }

  Status send(uint32_t rank, StepRef ref, Payload value) {
    const Step& step = schedule_.step(Rank{rank}, ref);
    const Connection connection = outgoing(rank, ref.lane, step);
    if (!lending()) {
      in_flight_[connection].push_back({Rank{rank}, ref, std::move(value)});
      complete_[rank][ref.lane][ref.step] = true;
    } else if (step.kind == ir::StepKind::kRecvReduceSend) {
      const uint32_t lane = *lane_ready_to_take(connection);
      complete_[rank][ref.lane][ref.step] = true;
      return run_step(step.send_peer.value, lane, std::move(value));
    } else {
      in_flight_[connection].push_back({Rank{rank}, ref, std::nullopt});
    }
    return {};
  }

  Status check_finished() const {
    for (uint32_t r = 0; r < schedule_.ranks.size(); ++r) {
      for (uint32_t l = 0; l < schedule_.ranks[r].lanes.size(); ++l) {
        if (current(r, l) == nullptr) continue;
        return Error{
            ErrorCode::kRefused,
            fmt::format("stuck at {} ({}), seed {}", ir::step_name(Rank{r}, {l, cursor_[r][l]}),
                        ir::to_string(current(r, l)->kind), options_.seed)};
      }
    }
    for (const auto& [connection, messages] : in_flight_) {
      if (messages.empty()) continue;
      return Error{ErrorCode::kRefused,
                   fmt::format("{} was never taken",
                               ir::step_name(messages.front().from, messages.front().step))};
    }
    return {};
  }

  int64_t want(uint64_t block, uint64_t elem) const {
    return expected(schedule_.collective, block, elem);
  }

  Status compare_outputs(uint32_t r) {
    for (uint32_t i = 0; i < layout_.num_blocks(Rank{r}, Buffer::kOutput); ++i) {
      const uint32_t block = layout_.block_at(Rank{r}, Buffer::kOutput, i);
      const int64_t* elems = memory_[r].at(Buffer::kOutput, i * layout_.chunks_per_block());
      for (uint64_t e = 0; e < sizes_.block_elems(block); ++e) {
        if (elems[e] == want(block, e)) continue;
        return Error{ErrorCode::kRefused,
                     fmt::format("rank {} output block {} element {} is {}, not {} (seed {})", r, i,
                                 e, elems[e], want(block, e), options_.seed)};
      }
    }
    return {};
  }

  Status compare_inputs(uint32_t r) {
    if (options_.aliasing == Aliasing::kInPlace) return {};
    for (uint32_t i = 0; i < layout_.num_chunks(Rank{r}, Buffer::kInput); ++i) {
      const uint64_t count = memory_[r].capacity(Buffer::kInput, i);
      const int64_t* now = memory_[r].at(Buffer::kInput, i);
      if (std::equal(now, now + count, before_[r].at(Buffer::kInput, i))) continue;
      return Error{ErrorCode::kRefused, fmt::format("rank {} input chunk {} was written", r, i)};
    }
    return {};
  }

  const ir::Schedule& schedule_;
  const ir::Layout& layout_;
  const ir::Sizes& sizes_;
  InterpreterOptions options_;
  std::mt19937_64 random_;
  std::vector<RankMemory> memory_;
  std::vector<RankMemory> before_;
  std::vector<std::vector<std::vector<bool>>> complete_;  // rank, lane, step
  std::vector<std::vector<uint32_t>> cursor_;             // rank, lane: the next step
  std::map<Connection, std::deque<Message>> in_flight_;
};

}  // namespace

Status interpret(const ir::Schedule& schedule, const ir::Sizes& sizes,
                 const InterpreterOptions& options) {
  TUTTI_TRY(ir::check_shape(schedule));
  TUTTI_ASSIGN(const ir::Layout layout,
               ir::Layout::create(schedule.collective, schedule.chunks_per_block));
  Interpreter interpreter(schedule, layout, sizes, options);
  TUTTI_TRY(interpreter.run());
  return interpreter.compare();
}

}  // namespace tutti::test
