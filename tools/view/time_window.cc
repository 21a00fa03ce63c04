#include "tools/view/time_window.h"

#include <algorithm>
#include <utility>

namespace tutti::view {
namespace {

double event_ns(int64_t ticks, const trace::Trace& trace) {
  return static_cast<double>(ticks) / trace.ticks_per_ns;
}

}  // namespace

TimeWindow span_of(const trace::Trace& trace) {
  TimeWindow span{INT64_MAX, INT64_MIN};
  const auto add = [&](int64_t begin, int64_t end) {
    span.begin = std::min(span.begin, begin);
    span.end = std::max(span.end, end == trace::kStillOpen ? begin : end);
  };
  for (const trace::Call& call : trace.calls) add(call.begin, call.end);
  for (const trace::Event& event : trace.events) add(event.begin, event.end);
  return span.begin > span.end ? TimeWindow{} : span;
}

WindowEvents events_in(const trace::Trace& trace, TimeWindow asked, size_t most) {
  WindowEvents found{asked, {}, 0};
  for (const trace::Event& event : trace.events) {
    if (event.begin <= asked.end && event.end >= asked.begin) found.events.push_back(&event);
  }
  found.num_asked = found.events.size();
  std::stable_sort(found.events.begin(), found.events.end(),
                   [](const auto* a, const auto* b) { return a->begin < b->begin; });
  if (found.events.size() <= most) return found;
  const int64_t next = found.events[most]->begin;
  found.events.resize(most);
  found.window.end = std::max(next, asked.begin);
  // What begins with the next one is drawn with it, in the next window.
  while (found.events.size() > 1 && found.events.back()->begin == next &&
         found.events.front()->begin != next) {
    found.events.pop_back();
  }
  return found;
}

nlohmann::ordered_json events_json(const WindowEvents& events, const trace::Trace& trace,
                                   int64_t origin) {
  using nlohmann::ordered_json;
  ordered_json json = ordered_json::array();
  for (const trace::Event* e : events.events) {
    const bool is_open = e->end == trace::kStillOpen;
    ordered_json entry{trace::to_string(e->kind), trace::to_string(e->op),
                       event_ns(e->begin - origin, trace)};
    entry.push_back(is_open ? ordered_json(nullptr)
                            : ordered_json(event_ns(e->end - origin, trace)));
    entry.push_back(e->rank);
    entry.push_back(e->lane);
    entry.push_back(e->step);
    entry.push_back(e->peer == trace::kNoPeer ? ordered_json(nullptr) : ordered_json(e->peer));
    entry.push_back(e->bytes);
    json.push_back(std::move(entry));
  }
  return json;
}

}  // namespace tutti::view
