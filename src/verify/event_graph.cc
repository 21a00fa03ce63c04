#include "verify/event_graph.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace tutti::verify {

EventGraph::EventGraph(const Facts& facts, Discipline discipline)
    : facts_(&facts), discipline_(discipline) {
  if (discipline == Discipline::kLending) join_events();
  collect_dependents();
  if (discipline == Discipline::kSlots) collect_room();
}

// Follows every chain of recv_reduce_sends to the step that keeps the data and names the event
// after it. Steps already named end a walk, so each is walked once.
void EventGraph::join_events() {
  const auto keeps_nothing = [this](StepNumber step) {
    return facts_->step(step).kind == ir::StepKind::kRecvReduceSend;
  };
  std::vector<StepNumber> chain;
  for (StepNumber s = 0; s < facts_->num_steps(); ++s) {
    if (!keeps_nothing(s)) continue;
    if (event_of_.empty()) {
      event_of_.resize(facts_->num_steps());
      std::iota(event_of_.begin(), event_of_.end(), StepNumber{0});
    }
    if (event_of_[s] != s) continue;
    chain.assign(1, s);
    StepNumber last = facts_->taker(s);
    while (last != s && keeps_nothing(last) && event_of_[last] == last) {
      chain.push_back(last);
      last = facts_->taker(last);
    }
    last = event_of_[last];
    for (StepNumber step : chain) event_of_[step] = last;
  }
}

template <class Visit>
void EventGraph::for_each_dependency(Visit visit) const {
  for (const Facts::Lane& lane : facts_->lanes()) {
    const ir::RankProgram& program = facts_->schedule().ranks[lane.rank.value];
    for (StepNumber step = lane.begin; step < lane.end; ++step) {
      for (ir::StepRef dep : program.deps_of(lane.steps[step - lane.begin])) {
        visit(completion_of(facts_->number(lane.rank, dep)), step);
      }
    }
  }
}

void EventGraph::collect_dependents() {
  const auto has_deps = [](const ir::RankProgram& program) { return !program.deps.empty(); };
  const auto& ranks = facts_->schedule().ranks;
  if (std::none_of(ranks.begin(), ranks.end(), has_deps)) return;

  first_dependent_.assign(size_t{facts_->num_steps()} + 1, 0);
  for_each_dependency([this](StepNumber awaited, StepNumber) { ++first_dependent_[awaited]; });
  std::partial_sum(first_dependent_.begin(), first_dependent_.end(), first_dependent_.begin());
  dependents_.resize(first_dependent_.back());
  // Each entry is the end of its row; filling a row from its end leaves the entry at its begin.
  for_each_dependency([this](StepNumber awaited, StepNumber step) {
    dependents_[--first_dependent_[awaited]] = step;
  });
}

// A connection belongs to one lane at the sender, so its messages are found in the lane's order.
void EventGraph::collect_room() {
  const uint32_t slots = facts_->schedule().slots;
  TUTTI_CHECK(slots > 0, "the slots discipline needs slots");
  next_in_slot_.assign(facts_->num_steps(), kNoStep);
  last_in_slot_.assign(facts_->num_steps(), kNoStep);
  std::vector<std::vector<StepNumber>> sent_to(facts_->schedule().ranks.size());
  for (const Facts::Lane& lane : facts_->lanes()) {
    for (StepNumber step = lane.begin; step < lane.end; ++step) {
      const ir::Step& its = lane.steps[step - lane.begin];
      if (!ir::sends(its.kind)) continue;
      std::vector<StepNumber>& sent = sent_to[its.send_peer.value];
      if (sent.size() >= slots) {
        last_in_slot_[step] = sent[sent.size() - slots];
        next_in_slot_[last_in_slot_[step]] = step;
      }
      sent.push_back(step);
    }
    for (StepNumber step = lane.begin; step < lane.end; ++step) {
      const ir::Step& its = lane.steps[step - lane.begin];
      if (ir::sends(its.kind)) sent_to[its.send_peer.value].clear();
    }
  }
}

StepNumber EventGraph::dependent_event(StepNumber event) const {
  if (dependents_.empty()) return kNoStep;
  const uint32_t first = first_dependent_[event];
  return first == first_dependent_[event + 1] ? kNoStep : event_of(dependents_[first]);
}

}  // namespace tutti::verify
