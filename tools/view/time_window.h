// A window of a trace's time. A page draws so many events and no more; what it gets is all that
// happens on all ranks in a window, and never the first ranks without the others.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "trace/trace.h"

namespace tutti::view {

inline constexpr size_t kMostEvents = 30'000;

// Ticks of the common clock.
struct TimeWindow {
  int64_t begin = 0;
  int64_t end = 0;
};

// From the first thing that happens to the last.
[[nodiscard]] TimeWindow span_of(const trace::Trace& trace);

// The events that touch the window, by when they begin. If these are more than `most`, the window
// ends where the next one begins.
struct WindowEvents {
  TimeWindow window;
  std::vector<const trace::Event*> events;
  uint64_t num_asked = 0;  // that touch the window that was asked for
};
[[nodiscard]] WindowEvents events_in(const trace::Trace& trace, TimeWindow asked,
                                     size_t most = kMostEvents);

// [kind, op, begin_ns, end_ns or null, rank, lane, step, peer or null, bytes] each, times counted
// from `origin` (ticks).
[[nodiscard]] nlohmann::ordered_json events_json(const WindowEvents& events,
                                                 const trace::Trace& trace, int64_t origin);

}  // namespace tutti::view
