// What belongs together in the trace of a real run, whose ranks write down each for itself: the
// calls of one operation, and the two steps of one message.
#pragma once

#include <string>
#include <vector>

#include "trace/trace.h"

namespace tutti::trace {

// The trace with all times on the common clock; `clocks` stays, for the errors in it.
[[nodiscard]] Trace on_common_clock(Trace trace);

// One operation: its calls, in the order of ranks.
struct JoinedCall {
  std::string what;
  std::vector<const Call*> calls;
};

// Calls of the same operation, in the order in which the lowest ranks made them. The trace must
// outlive it.
[[nodiscard]] std::vector<JoinedCall> join_calls(const Trace& trace);

struct Delivery {
  const Event* sent = nullptr;   // the step that gave the message
  const Event* taken = nullptr;  // the step that took it
};

// Every message of which both ends were recorded: a step that takes says which step of its peer
// gave. What was overwritten at either end is left out, and nothing else. The trace must outlive
// it.
[[nodiscard]] std::vector<Delivery> deliveries_of(const Trace& trace,
                                                  const std::vector<JoinedCall>& joined);

}  // namespace tutti::trace
