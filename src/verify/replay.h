// One run of a schedule, followed symbolically: the proof that every run computes the result and
// that no two runs differ.
//
// The events are replayed in an order that could happen. Every access is checked against those it
// conflicts with (verify/memory.h), so the replay stands for all orders; every value is a chunk
// with the set of ranks it sums, so it stands for all inputs, types and sizes.
#pragma once

#include <optional>

#include "verify/event_graph.h"
#include "verify/order.h"
#include "verify/prove.h"
#include "verify/reachability.h"

namespace tutti::verify {

struct Case {
  const EventGraph& graph;
  const Order& order;
  Reachability& reachability;
  RuleSet rules;
};

// The first refusal in the replay's order; else that of the lowest wrong output; else none.
[[nodiscard]] std::optional<Refusal> replay(const Case& of, ir::Placement placement);

}  // namespace tutti::verify
