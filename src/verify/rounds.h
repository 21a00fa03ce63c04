// The events of a schedule in waves: which of them can happen after how many messages in a row.
#pragma once

#include <cstdint>
#include <vector>

#include "verify/event_graph.h"
#include "verify/order.h"

namespace tutti::verify {

inline constexpr uint32_t kNeverRuns = UINT32_MAX;

struct Rounds {
  // By round, and within a round each event after all that it waits for. Of a schedule that
  // deadlocks: the events that can run.
  Order order;
  std::vector<uint32_t> round_of;  // by event; kNeverRuns
};

// With slots, events wait for room.
[[nodiscard]] Rounds find_rounds(const EventGraph& graph);

}  // namespace tutti::verify
