// Does one step always run before another? Exact, and a few instructions in nearly all cases.
//
// Waits give a graph, and the question is reachability in it. Two spanning forests answer most
// questions by comparing intervals: in the forest of causes every event hangs from one event that
// it waits for (its message, else a dependency, else its lane), which follows data that spreads; in
// the forest of effects it hangs from one event that waits for it, which follows data that is
// gathered. Earlier in the same lane needs no forest. For the rest the waits are searched
// backwards, messages first, asking the forests at every event met and never passing the position
// in the order beyond which nothing can be found.
//
// Waiting for room in a slot orders nothing here, as order.h says.
#pragma once

#include <cstdint>
#include <vector>

#include "verify/event_graph.h"
#include "verify/order.h"

namespace tutti::verify {

class Reachability {
 public:
  // Both must outlive this; the order may ignore room.
  Reachability(const EventGraph& graph, const Order& order);

  // True if `earlier` has run before `later` runs, in every run. Steps of one event are not
  // ordered.
  [[nodiscard]] bool happens_before(StepNumber earlier, StepNumber later);

  // Events looked at in searches so far: what the forests did not answer.
  [[nodiscard]] uint64_t num_searched() const { return num_searched_; }

 private:
  // An event's place in a forest, and how many events hang below it, itself included: a forest
  // numbered from parents to children, each subtree in one row.
  struct Subtree {
    uint32_t begin = 0;
    uint32_t size = 1;
    [[nodiscard]] bool holds(const Subtree& other) const {
      return other.begin - begin < size;  // unsigned: a smaller begin wraps to a large number
    }
  };
  using Forest = std::vector<Subtree>;

  [[nodiscard]] StepNumber cause_of(StepNumber event) const;
  [[nodiscard]] StepNumber effect_of(StepNumber event) const;
  template <class Events, class Parent>
  [[nodiscard]] static Forest plant(const Events& events, uint32_t num_steps, Parent parent);
  [[nodiscard]] bool known_before(StepNumber earlier, StepNumber later) const;
  [[nodiscard]] bool search(StepNumber earlier, StepNumber later);

  const EventGraph* graph_;
  const Order* order_;
  Forest causes_;
  Forest effects_;
  uint64_t num_searched_ = 0;
  std::vector<StepNumber> stack_;
  // Both empty until a search is needed. An event that depends on many is asked about each of them:
  // what one search met, the next question about the same event need not look for.
  std::vector<uint32_t> seen_in_;     // the last search that went through the event
  std::vector<StepNumber> met_from_;  // the last event from which a search met it
  uint32_t num_searches_ = 0;
};

}  // namespace tutti::verify
