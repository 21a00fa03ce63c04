#include "sim/execution.h"

#include <algorithm>
#include <utility>

namespace tutti::sim {
namespace {

// Moments that differ by rounding alone are one moment: a few units in the last place.
constexpr double kSameMoment = 1e-15;

}  // namespace

Execution::Execution(const Parts& parts, uint32_t num_other_actors)
    : program_(parts.program),
      machine_(parts.machine),
      payload_(parts.payload),
      recorder_(parts.recorder),
      queue_(static_cast<uint32_t>(parts.program.lanes().size()) + num_other_actors),
      flows_({parts.machine.link_gbps(), parts.machine.binding_links()},
             static_cast<uint32_t>(parts.program.lanes().size()) + num_other_actors, queue_),
      log_(parts.program.num_steps()),
      waits_(static_cast<uint32_t>(parts.program.schedule().ranks.size())),
      lanes_(parts.program.lanes().size()) {
  for (uint32_t lane = 0; lane < num_lanes(); ++lane) {
    lanes_[lane].at = program_.lanes()[lane].first;
    queue_.set(lane, machine_.start_ns(program_.lanes()[lane].rank));
  }
}

Status Execution::run() {
  while (!queue_.empty()) {
    now_ = std::max(now_, queue_.next_time());
    const double moment_end = now_ + now_ * kSameMoment;
    while (!queue_.empty() && queue_.next_time() <= moment_end) {
      const uint32_t actor = queue_.pop();
      if (actor < num_lanes()) {
        lane_event(actor);
      } else {
        message_event(actor);
      }
      follow_up();
    }
    flows_.settle(now_);
  }
  if (num_done_ < num_lanes()) return deadlock();
  return {};
}

void Execution::follow_up() {
  while (!movable_.empty() || !notices_.empty()) {
    if (!movable_.empty()) {
      const uint32_t lane = movable_.back();
      movable_.pop_back();
      arrive(lane);
    } else {
      const Notice notice = notices_.back();
      notices_.pop_back();
      partner_changed(notice.step, notice.trigger);
    }
  }
}

void Execution::lane_event(uint32_t lane) {
  switch (lanes_[lane].phase) {
    case Phase::kIdle: return movable_.push_back(lane);
    case Phase::kOverhead: return act(lane);
    case Phase::kLatency:
    case Phase::kTransfer: return message_event(lane);
    case Phase::kBusy: return finish_step(lane);
    case Phase::kBlocked:
    case Phase::kStanding:
    case Phase::kChained:
    case Phase::kDone: break;
  }
  TUTTI_CHECK(false, "a lane that waits for others has no time of its own");
}

StepNumber Execution::find_incomplete(StepNumber step) const {
  if (program_.step(step).num_deps == 0) return kNoStep;
  const Rank rank = program_.rank_of(step);
  for (const ir::StepRef dep : program_.schedule().ranks[rank.value].deps_of(program_.step(step))) {
    const StepNumber number = program_.number(rank, dep);
    if (!log_[number].is_complete) return number;
  }
  return kNoStep;
}

void Execution::arrive(uint32_t lane) {
  LaneState& state = lanes_[lane];
  const Program::Lane& steps = program_.lanes()[lane];
  if (state.at == steps.first + steps.num_steps) {
    state.phase = Phase::kDone;
    state.finish_ns = now_;
    ++num_done_;
    return;
  }
  if (const StepNumber missing = find_incomplete(state.at); missing != kNoStep) {
    return block(lane, missing);
  }
  const double overhead_ns = machine_.step_overhead_ns(steps.rank);
  if (overhead_ns > 0) {
    state.phase = Phase::kOverhead;
    queue_.set(lane, now_ + overhead_ns);
  } else {
    act(lane);
  }
}

void Execution::block(uint32_t lane, StepNumber on) {
  LaneState& state = lanes_[lane];
  state.phase = Phase::kBlocked;
  state.blocked_on = on;
  state.since_ns = now_;
  state.next_waiter = std::exchange(log_[on].first_waiter, lane);
}

void Execution::complete(StepNumber step, StepNumber cause) {
  log_[step].is_complete = true;
  uint32_t lane = std::exchange(log_[step].first_waiter, kNoLane);
  while (lane != kNoLane) {
    LaneState& state = lanes_[lane];
    if (program_.rank_of(cause) != program_.rank_of(step)) {
      waits_.add(program_.rank_of(step), program_.rank_of(cause), now_ - state.since_ns);
      recorder_.wait(state.at, cause, state.since_ns, now_);
    }
    state.cause = cause;
    state.blocked_on = kNoStep;
    movable_.push_back(lane);
    lane = std::exchange(state.next_waiter, kNoLane);
  }
}

void Execution::begin(StepNumber step, StepNumber cause, bool by_partner) {
  log_[step].begin_ns = now_;
  log_[step].cause = cause;
  log_[step].by_partner = by_partner;
}

void Execution::act(uint32_t lane) {
  LaneState& state = lanes_[lane];
  const ir::StepKind kind = program_.step(state.at).kind;
  state.since_ns = now_;
  if (ir::sends(kind) || ir::receives(kind)) return act_on_message(lane);
  begin(state.at, state.cause, false);
  state.bytes = payload_.local_bytes(state.at);
  work(lane);
}

void Execution::work(uint32_t lane) {
  LaneState& state = lanes_[lane];
  const ir::StepKind kind = program_.step(state.at).kind;
  const Rank rank = program_.lanes()[lane].rank;
  double ns = 0;
  if (ir::reduces(kind)) ns = machine_.reduce_ns(rank, state.bytes);
  if (kind == ir::StepKind::kCopy) ns = machine_.copy_ns(rank, state.bytes);
  if (ns == 0) return finish_step(lane);
  state.phase = Phase::kBusy;
  queue_.set(lane, now_ + ns);
}

void Execution::finish_step(uint32_t lane) {
  const StepNumber step = lanes_[lane].at;
  payload_.written(step);
  step_has_run(lane);
  go_on(lane, step);
}

void Execution::go_on(uint32_t lane, StepNumber cause) {
  LaneState& state = lanes_[lane];
  log_[state.at].end_ns = now_;
  recorder_.step(state.at, log_[state.at].begin_ns, now_, state.bytes);
  ++state.at;
  state.cause = cause;
  movable_.push_back(lane);
}

void Execution::count_message(StepNumber sender, double bytes, double handed_over_ns) {
  ++num_messages_;
  message_bytes_ += bytes;
  recorder_.message(sender, handed_over_ns, now_, bytes);
}

}  // namespace tutti::sim
