// The meaning of a barrier: no rank leaves before all have entered.
#pragma once

#include <optional>

#include "verify/event_graph.h"
#include "verify/order.h"

namespace tutti::verify {

// Refuses a rank that can be through all its steps before another has run any.
[[nodiscard]] std::optional<Refusal> check_barrier(const EventGraph& graph, const Order& order);

}  // namespace tutti::verify
