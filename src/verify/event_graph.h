// Who waits for whom. An event is what happens at one moment: a step; or, under lending, a
// recv_reduce_send together with the step that takes its message, because its result is kept
// nowhere (a chain of them is one event). An event is named by its last step, the one that keeps
// the data, and waits for what any of its steps waits for.
//
//   a step waits for          under lending                        with slots
//   the step before it        it has run                           it has run
//   a dependency              has run; a send: its taker has run   has run
//   its message               the send has run                     the send has run
//   room (if it sends)        -                                    the message S earlier was taken
//
// No schedule can deadlock whose events have no cycle of waits, and every other one does. If there
// is a cycle, none of its events can be the first to run. If there is none, take any moment at
// which not all have run, and of those that have not the first in a topological order: all that it
// waits for has run. It stays able to run until it does, because what it waits for is fixed (lanes
// are sequences, messages are matched by number) and what has run stays run. So a run that stops
// has finished, whatever order the events came in.
#pragma once

#include <cstdint>
#include <vector>

#include "verify/check.h"
#include "verify/facts.h"

namespace tutti::verify {

enum class WaitKind : uint8_t { kLane, kDependency, kMessage, kRoom };

// `waiter` cannot run before `awaited` has.
struct Wait {
  StepNumber waiter;
  StepNumber awaited;
  WaitKind kind;
};

class EventGraph {
 public:
  // The facts must outlive this. kSlots needs a schedule with slots.
  EventGraph(const Facts& facts, Discipline discipline);

  [[nodiscard]] const Facts& facts() const { return *facts_; }
  [[nodiscard]] Discipline discipline() const { return discipline_; }
  [[nodiscard]] StepNumber event_of(StepNumber step) const {
    return event_of_.empty() ? step : event_of_[step];
  }
  [[nodiscard]] bool is_event(StepNumber step) const { return event_of(step) == step; }

  // The steps of an event, from the last to the first.
  template <class Visit>
  void for_each_step(StepNumber event, Visit visit) const {
    StepNumber step = event;
    do {
      visit(step);
      step = joined_sender(step);
    } while (step != kNoStep && step != event);
  }

  // Everything an event waits for, messages last; the event itself if it waits for itself.
  template <class Visit>
  void for_each_wait(StepNumber event, Visit visit) const;

  // The events that wait for this one, each with the kind of wait, once for every Wait.
  template <class Visit>
  void for_each_follower(StepNumber event, Visit visit) const;

  // The first event in `for_each_follower` that waits by a dependency, or kNoStep.
  [[nodiscard]] StepNumber dependent_event(StepNumber event) const;

 private:
  // The sender of the message that `step` takes, if both are one event; else kNoStep.
  [[nodiscard]] StepNumber joined_sender(StepNumber step) const {
    if (event_of_.empty()) return kNoStep;
    const StepNumber sender = facts_->sender(step);
    if (sender == kNoStep) return kNoStep;
    return event_of_[sender] == event_of_[step] ? sender : kNoStep;
  }
  // What must have run for a dependency on `step` to be complete.
  [[nodiscard]] StepNumber completion_of(StepNumber step) const {
    if (discipline_ == Discipline::kSlots) return step;
    const StepNumber taker = facts_->taker(step);
    return taker == kNoStep ? step : taker;
  }

  void join_events();
  void collect_dependents();
  void collect_room();
  template <class Visit>
  void for_each_dependency(Visit visit) const;

  const Facts* facts_;
  Discipline discipline_;
  std::vector<StepNumber> event_of_;  // empty: every step is an event
  // The steps that wait for step s by a dependency: dependents_[first_dependent_[s] .. [s + 1]).
  // Both empty if there are no dependencies.
  std::vector<uint32_t> first_dependent_;
  std::vector<StepNumber> dependents_;
  // With slots: for a send, the send that uses its slot again and the send that used it before.
  std::vector<StepNumber> next_in_slot_;
  std::vector<StepNumber> last_in_slot_;
};

template <class Visit>
void EventGraph::for_each_wait(StepNumber event, Visit visit) const {
  for_each_step(event, [&](StepNumber step) {
    const Facts::Lane& lane = facts_->lane(step);
    if (step != lane.begin) visit(Wait{step, step - 1, WaitKind::kLane});
    const ir::Step& its = lane.steps[step - lane.begin];
    const ir::RankProgram& program = facts_->schedule().ranks[lane.rank.value];
    for (ir::StepRef dep : program.deps_of(its)) {
      const StepNumber awaited = completion_of(facts_->number(lane.rank, dep));
      visit(Wait{step, awaited, WaitKind::kDependency});
    }
    if (!last_in_slot_.empty() && last_in_slot_[step] != kNoStep) {
      visit(Wait{step, facts_->taker(last_in_slot_[step]), WaitKind::kRoom});
    }
    const StepNumber sender = facts_->sender(step);
    if (sender == kNoStep) return;
    // Within an event the message passes at that moment. But an event that feeds its own first
    // step, as a ring of recv_reduce_sends does, waits for itself.
    if (joined_sender(step) == kNoStep || sender == event) {
      visit(Wait{step, sender, WaitKind::kMessage});
    }
  });
}

template <class Visit>
void EventGraph::for_each_follower(StepNumber event, Visit visit) const {
  for_each_step(event, [&](StepNumber step) {
    if (step + 1 < facts_->lane(step).end) visit(event_of(step + 1), WaitKind::kLane);
    if (!dependents_.empty()) {
      for (uint32_t i = first_dependent_[step]; i < first_dependent_[step + 1]; ++i) {
        visit(event_of(dependents_[i]), WaitKind::kDependency);
      }
    }
    if (!next_in_slot_.empty()) {
      const StepNumber sender = facts_->sender(step);
      if (sender != kNoStep && next_in_slot_[sender] != kNoStep) {
        visit(next_in_slot_[sender], WaitKind::kRoom);
      }
    }
  });
  const StepNumber taker = facts_->taker(event);
  if (taker != kNoStep) visit(event_of(taker), WaitKind::kMessage);
}

}  // namespace tutti::verify
