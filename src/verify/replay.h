// One run of a schedule, followed symbolically: the proof that every run computes the result and
// that no two runs differ.
//
// The events are replayed in an order that could happen. Every access is checked against those it
// conflicts with (verify/memory.h), so the replay stands for all orders; every value is a chunk
// with the set of ranks it sums, so it stands for all inputs, types and sizes.
#pragma once

#include <optional>
#include <vector>

#include "verify/contribution_set.h"
#include "verify/event_graph.h"
#include "verify/memory.h"
#include "verify/order.h"
#include "verify/prove.h"
#include "verify/reachability.h"

namespace tutti::verify {

// Told of every step that the replay ran, in its order.
class Witness {
 public:
  virtual ~Witness() = default;
  // `result` is what the step stored, if it stores, and sent, if it sends: a value a chunk. The
  // sets may be read until the next call.
  virtual void ran(StepNumber step, const std::vector<Value>& result,
                   const ContributionSets& sets) = 0;
};

struct Case {
  const EventGraph& graph;
  const Order& order;
  Reachability& reachability;
  RuleSet rules;
  Witness* witness = nullptr;
};

// The first refusal in the replay's order; else that of the lowest wrong output; else none.
[[nodiscard]] std::optional<Refusal> replay(const Case& of, ir::Placement placement);

}  // namespace tutti::verify
