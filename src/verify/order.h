// An order in which the events of a schedule can happen, or the fact that there is none.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "verify/event_graph.h"

namespace tutti::verify {

struct Order {
  std::vector<StepNumber> events;  // each after all that it waits for
  std::vector<uint32_t> position;  // of an event in the above; by step number
  uint64_t longest_chain = 0;      // events on the longest path of waits
};

// Whether events wait for room in a slot. Deadlock is asked with it. Results and hazards are asked
// without: what then holds with the stated slots also holds with more.
enum class Room : uint8_t { kCounts, kIgnored };

// Empty if events wait for each other in a cycle. A lane runs on as long as it can before another
// does: the order is a function of the schedule alone, and passes over memory in long strides.
[[nodiscard]] std::optional<Order> find_order(const EventGraph& graph, Room room);

}  // namespace tutti::verify
