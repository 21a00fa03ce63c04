// The collectives of a run: the calls of its ranks that belong together.
#pragma once

#include <string>
#include <vector>

#include "trace/trace.h"

namespace tutti::view {

// The trace with all times on the common clock; `clocks` stays, for the errors in it.
[[nodiscard]] trace::Trace on_common_clock(trace::Trace trace);

// One collective: the same call of several ranks, in the order of ranks.
struct JoinedCall {
  std::string what;
  std::vector<const trace::Call*> calls;
};

// The n-th call of a rank with the same words meets the n-th of the others: that is how names meet
// in tutti, and unnamed calls of one kind and size come in one order. The trace must outlive it.
[[nodiscard]] std::vector<JoinedCall> join_calls(const trace::Trace& trace);

// The messages of a real run, which records none: a step that gives is put together with the step
// that takes. Of one collective, what a rank gives to another it takes in the same order. A step
// that takes and gives does not say whom it gives to: it is drawn where one rank alone lacks a
// sender. The trace is on the common clock.
[[nodiscard]] std::vector<trace::Event> messages_of(const trace::Trace& trace,
                                                    const std::vector<JoinedCall>& joined);

}  // namespace tutti::view
