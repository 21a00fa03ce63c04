#include "verify/cycle.h"

#include <fmt/format.h>

#include "base/check.h"
#include "verify/report.h"

namespace tutti::verify {
namespace {

// Breadth-first search along waits, among the events that may be on a cycle.
class CycleSearch {
 public:
  explicit CycleSearch(const EventGraph& graph);

  std::vector<Wait> shortest();

 private:
  void drop_events_that_can_run();
  void drop_events_that_nobody_awaits();
  // The shortest cycle through `start`, if it is shorter than `limit`; else empty.
  std::vector<Wait> shortest_through(StepNumber start, size_t limit);
  std::vector<Wait> path_back(StepNumber start, Wait last) const;

  // About a second of work; a graph that needs more is one that nobody reads to the end.
  static constexpr uint64_t kMaxWaitsTried = 100'000'000;

  const EventGraph& graph_;
  std::vector<char> on_cycle_;       // by event; true too for events between two cycles
  std::vector<uint32_t> seen_from_;  // the start + 1 of the search that met the event
  std::vector<Wait> met_by_;         // the wait by which it met it
  uint64_t num_waits_tried_ = 0;
};

CycleSearch::CycleSearch(const EventGraph& graph)
    : graph_(graph),
      on_cycle_(graph.facts().num_steps()),
      seen_from_(graph.facts().num_steps()),
      met_by_(graph.facts().num_steps()) {
  for (StepNumber step = 0; step < graph.facts().num_steps(); ++step) {
    on_cycle_[step] = graph.is_event(step);
  }
  drop_events_that_can_run();
  drop_events_that_nobody_awaits();
}

void CycleSearch::drop_events_that_can_run() {
  std::vector<uint32_t> num_waits(on_cycle_.size());
  std::vector<StepNumber> ready;
  for (StepNumber event = 0; event < on_cycle_.size(); ++event) {
    if (!on_cycle_[event]) continue;
    graph_.for_each_wait(event, [&](const Wait&) { ++num_waits[event]; });
    if (num_waits[event] == 0) ready.push_back(event);
  }
  while (!ready.empty()) {
    const StepNumber event = ready.back();
    ready.pop_back();
    on_cycle_[event] = false;
    graph_.for_each_follower(event, [&](StepNumber follower, WaitKind) {
      if (--num_waits[follower] == 0) ready.push_back(follower);
    });
  }
}

void CycleSearch::drop_events_that_nobody_awaits() {
  std::vector<uint32_t> num_awaiting(on_cycle_.size());
  const auto for_each_awaited = [this](StepNumber event, auto visit) {
    graph_.for_each_wait(event, [&](const Wait& wait) {
      const StepNumber awaited = graph_.event_of(wait.awaited);
      if (on_cycle_[awaited]) visit(awaited);
    });
  };
  for (StepNumber event = 0; event < on_cycle_.size(); ++event) {
    if (on_cycle_[event]) for_each_awaited(event, [&](StepNumber e) { ++num_awaiting[e]; });
  }
  std::vector<StepNumber> unneeded;
  for (StepNumber event = 0; event < on_cycle_.size(); ++event) {
    if (on_cycle_[event] && num_awaiting[event] == 0) unneeded.push_back(event);
  }
  while (!unneeded.empty()) {
    const StepNumber event = unneeded.back();
    unneeded.pop_back();
    on_cycle_[event] = false;
    for_each_awaited(event, [&](StepNumber e) {
      if (--num_awaiting[e] == 0) unneeded.push_back(e);
    });
  }
}

std::vector<Wait> CycleSearch::shortest() {
  std::vector<Wait> best;
  for (StepNumber start = 0; start < on_cycle_.size(); ++start) {
    if (!on_cycle_[start]) continue;
    std::vector<Wait> cycle = shortest_through(start, best.empty() ? SIZE_MAX : best.size());
    if (!cycle.empty()) best = std::move(cycle);
    if (!best.empty() && (best.size() == 1 || num_waits_tried_ > kMaxWaitsTried)) break;
  }
  TUTTI_CHECK(!best.empty(), "events that cannot be ordered have a cycle");
  return best;
}

std::vector<Wait> CycleSearch::shortest_through(StepNumber start, size_t limit) {
  std::vector<StepNumber> front{start};
  std::vector<StepNumber> next;
  std::vector<Wait> cycle;
  for (size_t length = 1; length < limit && !front.empty() && cycle.empty(); ++length) {
    next.clear();
    for (StepNumber event : front) {
      graph_.for_each_wait(event, [&](const Wait& wait) {
        ++num_waits_tried_;
        const StepNumber awaited = graph_.event_of(wait.awaited);
        if (awaited == start && cycle.empty()) cycle = path_back(start, wait);
        if (!on_cycle_[awaited] || seen_from_[awaited] == start + 1) return;
        seen_from_[awaited] = start + 1;
        met_by_[awaited] = wait;
        next.push_back(awaited);
      });
    }
    front.swap(next);
  }
  return cycle;
}

std::vector<Wait> CycleSearch::path_back(StepNumber start, Wait last) const {
  std::vector<Wait> reversed{last};
  while (graph_.event_of(reversed.back().waiter) != start) {
    reversed.push_back(met_by_[graph_.event_of(reversed.back().waiter)]);
  }
  return {reversed.rbegin(), reversed.rend()};
}

std::string reason_of(const EventGraph& graph, const Wait& wait) {
  const Facts& facts = graph.facts();
  switch (wait.kind) {
    case WaitKind::kLane: return "the step before it in its lane";
    case WaitKind::kMessage: return "which sends its message";
    case WaitKind::kRoom: return "which would free the slot that it needs";
    case WaitKind::kDependency: break;
  }
  if (facts.rank(wait.awaited) == facts.rank(wait.waiter)) return "a dependency";
  return fmt::format("which takes the message of its dependency {}",
                     name_of(facts, facts.sender(wait.awaited)));
}

}  // namespace

std::vector<Wait> find_shortest_cycle(const EventGraph& graph) {
  return CycleSearch(graph).shortest();
}

Refusal refuse_cycle(const EventGraph& graph, const std::vector<Wait>& cycle) {
  const Facts& facts = graph.facts();
  std::string what = fmt::format("can never run {}: ", name_of(facts, graph.discipline()));
  what += cycle.size() == 1 ? "it waits for itself" : "it is on a cycle of waits";
  for (size_t i = 0; i < cycle.size(); ++i) {
    const Wait& wait = cycle[i];
    what += fmt::format("\n  {} waits for {}, {}", name_of(facts, wait.waiter),
                        name_of(facts, wait.awaited), reason_of(graph, wait));
    const StepNumber next = cycle[(i + 1) % cycle.size()].waiter;
    if (next == wait.awaited) continue;
    what += fmt::format(
        "\n  {} runs at the same moment as {}: without slots a recv_reduce_send keeps its result "
        "nowhere",
        name_of(facts, wait.awaited), name_of(facts, next));
  }
  return refuse_step(graph, Rule::kDeadlock, cycle[0].waiter, what);
}

}  // namespace tutti::verify
