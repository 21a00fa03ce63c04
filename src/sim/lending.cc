#include "sim/lending.h"

#include <algorithm>

namespace tutti::sim {

Lending::Lending(const Parts& parts) : Execution(parts, 0), chain_links_(num_lanes()) {}

void Lending::act_on_message(uint32_t lane) {
  LaneState& state = lanes_[lane];
  const StepNumber step = state.at;
  if (program_.step(step).kind == ir::StepKind::kSend) {
    begin(step, state.cause, false);
    state.bytes = 0;
    announce(step);
    go_on(lane, step);
  } else {
    state.phase = Phase::kStanding;
    partner_changed(step, step);
  }
}

void Lending::announce(StepNumber sender) {
  log_[sender].is_sent = true;
  payload_.sent(sender);
  notify(program_.taker(sender), sender);
}

StepNumber Lending::origin(StepNumber taker) const {
  StepNumber step = program_.sender(taker);
  while (passes_through(step)) step = program_.sender(step);
  return step;
}

// A circle of steps that only pass on would be walked for ever; it can never begin.
void Lending::partner_changed(StepNumber step, StepNumber trigger) {
  if (!is_standing_at(step)) return;
  StepNumber taker = step;
  while (passes_through(taker)) {
    taker = program_.taker(taker);
    if (taker == step || !is_standing_at(taker)) return;
  }
  StepNumber sender = program_.sender(taker);
  while (passes_through(sender)) {
    if (!is_standing_at(sender)) return;
    sender = program_.sender(sender);
  }
  if (log_[sender].is_sent) pull(taker, trigger);
}

void Lending::pull(StepNumber taker, StepNumber trigger) {
  const uint32_t lane = program_.lane_of(taker);
  double latency_ns = 0;
  for (StepNumber step = taker;; step = program_.sender(step)) {
    LaneState& state = lanes_[program_.lane_of(step)];
    const bool by_partner = step != trigger;
    begin(step, by_partner ? trigger : state.cause, by_partner);
    if (by_partner) {
      waits_.add(program_.rank_of(step), program_.rank_of(trigger), now_ - state.since_ns);
      recorder_.wait(step, trigger, state.since_ns, now_);
    }
    if (step != taker) {
      state.phase = Phase::kChained;
      payload_.sent(step);
    }
    const StepNumber sender = program_.sender(step);
    state.route = &machine_.route(program_.rank_of(sender), program_.rank_of(step));
    latency_ns += state.route->latency_ns;
    if (!passes_through(sender)) break;
  }
  lanes_[lane].bytes = payload_.message_bytes(origin(taker));
  if (latency_ns > 0) {
    lanes_[lane].phase = Phase::kLatency;
    queue_.set(lane, now_ + latency_ns);
  } else {
    begin_transfer(lane);
  }
}

void Lending::message_event(uint32_t lane) {
  if (lanes_[lane].phase == Phase::kLatency) return begin_transfer(lane);
  flows_.finish(lane, now_);
  arrived(lane);
}

void Lending::begin_transfer(uint32_t lane) {
  StepNumber sender = program_.sender(lanes_[lane].at);
  std::span<const topo::LinkId> links = machine_.links(*lanes_[lane].route);
  double cap = lanes_[lane].route->cap_gbps;
  if (passes_through(sender)) {
    std::vector<topo::LinkId>& chain = chain_links_[lane];
    chain.assign(links.begin(), links.end());
    for (; passes_through(sender); sender = program_.sender(sender)) {
      const Route& hop = *lanes_[program_.lane_of(sender)].route;
      const auto hop_links = machine_.links(hop);
      chain.insert(chain.end(), hop_links.begin(), hop_links.end());
      cap = std::min({cap, hop.cap_gbps, machine_.reduce_cap_gbps(program_.rank_of(sender))});
    }
    links = chain;
  }
  const double bytes = lanes_[lane].bytes;
  if (bytes == 0 || (links.empty() && cap == kUnlimited)) return arrived(lane);
  lanes_[lane].phase = Phase::kTransfer;
  flows_.start(lane, links, bytes, cap, now_);
}

void Lending::arrived(uint32_t lane) {
  const StepNumber taker = lanes_[lane].at;
  const double bytes = lanes_[lane].bytes;
  log_[taker].transfer_ns = now_;
  StepNumber sender = program_.sender(taker);
  for (; passes_through(sender); sender = program_.sender(sender)) {
    const uint32_t middle = program_.lane_of(sender);
    count_message(sender, bytes, log_[sender].begin_ns);
    lanes_[middle].bytes = bytes;
    log_[sender].transfer_ns = now_;
    payload_.written(sender);
    complete(sender, taker);
    go_on(middle, taker);
  }
  count_message(sender, bytes, log_[sender].end_ns);
  complete(sender, taker);
  work(lane);
}

void Lending::step_has_run(uint32_t lane) {
  const StepNumber step = lanes_[lane].at;
  if (ir::sends(program_.step(step).kind)) {
    log_[step].end_ns = now_;
    announce(step);
  } else {
    complete(step, step);
  }
}

Execution::Obstacle Lending::obstacle_of_standing(uint32_t lane) const {
  const StepNumber step = lanes_[lane].at;
  const StepNumber sender = program_.sender(step);
  const bool input_ready = passes_through(sender) ? is_standing_at(sender) : log_[sender].is_sent;
  if (!input_ready || !passes_through(step)) return {sender, "waits for a message of"};
  return {program_.taker(step), "waits to be taken at once by"};
}

Execution::Obstacle Lending::obstacle_of_completion(StepNumber send) const {
  return {program_.taker(send), "depends on a send that is to be taken by"};
}

}  // namespace tutti::sim
