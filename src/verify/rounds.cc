#include "verify/rounds.h"

#include <algorithm>
#include <deque>

namespace tutti::verify {
namespace {

bool takes_message(const EventGraph& graph, StepNumber event) {
  bool takes = false;
  graph.for_each_step(event, [&](StepNumber step) {
    if (graph.facts().sender(step) != kNoStep) takes = true;
  });
  return takes;
}

}  // namespace

Rounds find_rounds(const EventGraph& graph) {
  const uint32_t num_steps = graph.facts().num_steps();
  std::vector<uint32_t> num_waits(num_steps);
  std::vector<uint32_t> earliest(num_steps);  // the latest round of what was waited for so far
  std::deque<StepNumber> ready;
  for (StepNumber step = 0; step < num_steps; ++step) {
    if (!graph.is_event(step)) continue;
    graph.for_each_wait(step, [&](const Wait&) { ++num_waits[step]; });
    if (num_waits[step] == 0) ready.push_back(step);
  }
  Rounds rounds;
  rounds.round_of.resize(num_steps, kNeverRuns);
  rounds.order.position.resize(num_steps);
  std::vector<StepNumber>& events = rounds.order.events;
  while (!ready.empty()) {
    const StepNumber event = ready.front();
    ready.pop_front();
    const uint32_t round = earliest[event] + (takes_message(graph, event) ? 1 : 0);
    rounds.round_of[event] = round;
    events.push_back(event);
    graph.for_each_follower(event, [&](StepNumber follower, WaitKind) {
      earliest[follower] = std::max(earliest[follower], round);
      if (--num_waits[follower] == 0) ready.push_back(follower);
    });
  }
  std::stable_sort(events.begin(), events.end(), [&](StepNumber a, StepNumber b) {
    return rounds.round_of[a] < rounds.round_of[b];
  });
  for (size_t i = 0; i < events.size(); ++i) {
    rounds.order.position[events[i]] = static_cast<uint32_t>(i);
  }
  return rounds;
}

}  // namespace tutti::verify
