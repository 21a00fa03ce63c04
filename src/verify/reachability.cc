#include "verify/reachability.h"

#include <ranges>

namespace tutti::verify {

// `events` lists parents before their children. Sizes are summed from the leaves up, then every
// subtree gets its row within its parent's, in the order in which children come.
template <class Events, class Parent>
Reachability::Forest Reachability::plant(const Events& events, uint32_t num_steps, Parent parent) {
  Forest forest(num_steps);
  for (StepNumber event : events | std::views::reverse) {
    const StepNumber above = parent(event);
    if (above != kNoStep) forest[above].size += forest[event].size;
  }
  std::vector<uint32_t> next_child(num_steps);
  uint32_t next_root = 0;
  for (StepNumber event : events) {
    const StepNumber above = parent(event);
    uint32_t& row = above == kNoStep ? next_root : next_child[above];
    forest[event].begin = row;
    row += forest[event].size;
    next_child[event] = forest[event].begin + 1;
  }
  return forest;
}

Reachability::Reachability(const EventGraph& graph, const Order& order)
    : graph_(&graph), order_(&order) {
  const uint32_t num_steps = graph.facts().num_steps();
  causes_ = plant(order.events, num_steps, [this](StepNumber event) { return cause_of(event); });
  effects_ = plant(order.events | std::views::reverse, num_steps,
                   [this](StepNumber event) { return effect_of(event); });
}

// Waits come with the message last, so the last one is the one preferred.
StepNumber Reachability::cause_of(StepNumber event) const {
  StepNumber cause = kNoStep;
  graph_->for_each_wait(event, [&](const Wait& wait) {
    if (wait.kind != WaitKind::kRoom) cause = graph_->event_of(wait.awaited);
  });
  return cause;
}

StepNumber Reachability::effect_of(StepNumber event) const {
  const Facts& facts = graph_->facts();
  if (facts.taker(event) != kNoStep) return graph_->event_of(facts.taker(event));
  const StepNumber dependent = graph_->dependent_event(event);
  if (dependent != kNoStep) return dependent;
  return event + 1 < facts.lane(event).end ? graph_->event_of(event + 1) : kNoStep;
}

bool Reachability::happens_before(StepNumber earlier, StepNumber later) {
  earlier = graph_->event_of(earlier);
  later = graph_->event_of(later);
  if (order_->position[earlier] >= order_->position[later]) return false;
  return known_before(earlier, later) || search(earlier, later);
}

bool Reachability::known_before(StepNumber earlier, StepNumber later) const {
  const Facts& facts = graph_->facts();
  if (earlier < later && facts.lane_of(earlier) == facts.lane_of(later)) return true;
  return causes_[earlier].holds(causes_[later]) || effects_[later].holds(effects_[earlier]);
}

bool Reachability::search(StepNumber earlier, StepNumber later) {
  if (seen_in_.empty()) {
    seen_in_.resize(graph_->facts().num_steps());
    met_from_.resize(graph_->facts().num_steps(), kNoStep);
  }
  if (met_from_[earlier] == later) return true;
  ++num_searches_;
  const uint32_t limit = order_->position[earlier];
  stack_.assign(1, later);
  bool found = false;
  while (!stack_.empty() && !found) {
    const StepNumber event = stack_.back();
    stack_.pop_back();
    ++num_searched_;
    graph_->for_each_wait(event, [&](const Wait& wait) {
      if (wait.kind == WaitKind::kRoom) return;
      const StepNumber awaited = graph_->event_of(wait.awaited);
      met_from_[awaited] = later;
      if (awaited == earlier) found = true;
      if (order_->position[awaited] <= limit || seen_in_[awaited] == num_searches_) return;
      seen_in_[awaited] = num_searches_;
      if (known_before(earlier, awaited)) found = true;
      stack_.push_back(awaited);
    });
  }
  return found;
}

}  // namespace tutti::verify
