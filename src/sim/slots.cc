#include "sim/slots.h"

namespace tutti::sim {

Slots::Slots(const Parts& parts, const Connections& connections)
    : Execution(parts, connections.size()),
      connections_(connections),
      num_slots_(parts.program.schedule().slots),
      state_(connections.size()) {}

bool Slots::has_room(StepNumber sender) const {
  const uint64_t taken = state_[connections_.of(sender)].num_taken;
  return program_.sequence(sender) < taken + num_slots_;
}

bool Slots::has_arrived(StepNumber taker) const {
  const StepNumber sender = program_.sender(taker);
  return program_.sequence(sender) < state_[connections_.of(sender)].num_arrived;
}

StepNumber Slots::room_maker(StepNumber sender) const {
  const uint32_t sequence = program_.sequence(sender) - num_slots_;
  return program_.taker(connections_.sender(connections_.of(sender), sequence));
}

void Slots::act_on_message(uint32_t lane) {
  lanes_[lane].phase = Phase::kStanding;
  partner_changed(lanes_[lane].at, kNoStep);
}

void Slots::partner_changed(StepNumber step, StepNumber trigger) {
  if (!is_standing_at(step)) return;
  const ir::StepKind kind = program_.step(step).kind;
  if (ir::receives(kind) && !has_arrived(step)) return;
  if (ir::sends(kind) && !has_room(step)) return;
  const uint32_t lane = program_.lane_of(step);
  LaneState& state = lanes_[lane];
  const bool by_partner = trigger != kNoStep;
  if (by_partner) account_wait(lane, trigger);
  begin(step, by_partner ? trigger : state.cause, by_partner);
  state.bytes = ir::receives(kind) ? payload_.message_bytes(program_.sender(step)) : 0;
  work(lane);
}

// While the message travels nobody is late, so a receiver waits for its sender only until then.
void Slots::account_wait(uint32_t lane, StepNumber trigger) {
  const LaneState& state = lanes_[lane];
  const bool for_message = trigger == program_.sender(state.at);
  const double end_ns = for_message ? log_[trigger].transfer_ns : now_;
  waits_.add(program_.rank_of(state.at), program_.rank_of(trigger), end_ns - state.since_ns);
  recorder_.wait(state.at, trigger, state.since_ns, end_ns);
}

void Slots::step_has_run(uint32_t lane) {
  const StepNumber step = lanes_[lane].at;
  const ir::StepKind kind = program_.step(step).kind;
  log_[step].end_ns = now_;
  complete(step, step);
  if (ir::sends(kind)) give(step);
  if (ir::receives(kind)) take(step);
}

void Slots::give(StepNumber sender) {
  payload_.sent(sender);
  const uint32_t connection = connections_.of(sender);
  Connection& state = state_[connection];
  ++state.num_sent;
  if (state.num_sent == state.num_arrived + 1) move_next(connection);
}

void Slots::take(StepNumber taker) {
  const StepNumber taken = program_.sender(taker);
  const uint32_t connection = connections_.of(taken);
  ++state_[connection].num_taken;
  const uint32_t lane = program_.lane_of(taken);
  const StepNumber at = lanes_[lane].at;
  if (lanes_[lane].phase != Phase::kStanding) return;
  if (ir::sends(program_.step(at).kind) && connections_.of(at) == connection) notify(at, taker);
}

void Slots::move_next(uint32_t connection) {
  const StepNumber sender = moving(connection);
  Connection& state = state_[connection];
  state.bytes = payload_.message_bytes(sender);
  log_[sender].transfer_ns = now_;
  const double latency_ns =
      machine_.route(program_.rank_of(sender), program_.step(sender).send_peer).latency_ns;
  state.has_latency = latency_ns > 0;
  if (state.has_latency) {
    queue_.set(num_lanes() + connection, now_ + latency_ns);
  } else {
    begin_transfer(connection);
  }
}

void Slots::begin_transfer(uint32_t connection) {
  const StepNumber sender = moving(connection);
  const Route& route = machine_.route(program_.rank_of(sender), program_.step(sender).send_peer);
  state_[connection].has_latency = false;
  const uint32_t actor = num_lanes() + connection;
  if (state_[connection].bytes == 0 || route.num_links == 0) {
    queue_.set(actor, now_);
  } else {
    flows_.start(actor, machine_.links(route), state_[connection].bytes, route.cap_gbps, now_);
  }
}

void Slots::message_event(uint32_t actor) {
  const uint32_t connection = actor - num_lanes();
  if (state_[connection].has_latency) return begin_transfer(connection);
  flows_.finish(actor, now_);
  arrived(connection);
}

void Slots::arrived(uint32_t connection) {
  Connection& state = state_[connection];
  const StepNumber sender = moving(connection);
  count_message(sender, state.bytes, log_[sender].end_ns);
  ++state.num_arrived;
  if (state.num_sent > state.num_arrived) move_next(connection);
  notify(program_.taker(sender), sender);
}

Execution::Obstacle Slots::obstacle_of_standing(uint32_t lane) const {
  const StepNumber step = lanes_[lane].at;
  if (ir::receives(program_.step(step).kind) && !has_arrived(step)) {
    return {program_.sender(step), "waits for a message of"};
  }
  return {room_maker(step), "waits for room, which is made by"};
}

Execution::Obstacle Slots::obstacle_of_completion(StepNumber send) const {
  return {send, "depends on"};
}

}  // namespace tutti::sim
