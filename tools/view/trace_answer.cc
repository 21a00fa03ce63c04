// What really happened: the calls of a run's ranks put together, with the time that ranks waited
// for the last to call told apart from the time that data took.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/try.h"
#include "tools/view/activity.h"
#include "tools/view/answers.h"
#include "tools/view/time_window.h"
#include "trace/joined.h"
#include "trace/trace.h"

namespace tutti::view {
namespace {

using trace::JoinedCall;

constexpr size_t kMostCalls = 2'000;
constexpr uint32_t kMostTraceRanks = 4096;

Result<trace::Trace> merged_trace(const Shelf& shelf, const Question& question) {
  const std::string numbers = text_of(question, "files");
  std::vector<trace::Trace> traces;
  for (size_t at = 0; at < numbers.size();) {
    const size_t comma = std::min(numbers.find(',', at), numbers.size());
    Question one;
    one.parameters["files"] = numbers.substr(at, comma - at);
    TUTTI_ASSIGN(const uint64_t number, number_of(one, "files", 0));
    TUTTI_ASSIGN(const auto file, shelf.get(number));
    const auto* trace = std::get_if<trace::Trace>(&file->content);
    if (trace == nullptr) {
      return Error{ErrorCode::kInvalidArgument, file->name + " is a schedule, not a trace"};
    }
    traces.push_back(*trace);
    at = comma + 1;
  }
  return trace::merge(std::move(traces));
}

// Of one rank. Calls overlap, so waits do: what counts is the time in which it waited for anything,
// or for something of one rank, and not the sum over calls.
struct RankWaits {
  uint64_t times_last = 0;
  std::map<uint32_t, std::vector<TimeWindow>> waited_for;  // by the rank that came last
};

int64_t union_of(std::vector<TimeWindow> waits) {
  std::sort(waits.begin(), waits.end(),
            [](const TimeWindow& a, const TimeWindow& b) { return a.begin < b.begin; });
  int64_t total = 0;
  int64_t until = INT64_MIN;
  for (const TimeWindow& wait : waits) {
    const int64_t begin = std::max(wait.begin, until);
    total += std::max<int64_t>(0, wait.end - begin);
    until = std::max(until, wait.end);
  }
  return total;
}

class Summary {
 public:
  // The trace is on the common clock.
  explicit Summary(const trace::Trace& trace) : trace_(trace), ranks_(trace.num_ranks) {
    for (const trace::ClockOffset& clock : trace.clocks) errors_[clock.rank] = clock.error;
  }

  [[nodiscard]] ordered_json call_json(const JoinedCall& joined, int64_t origin);
  [[nodiscard]] ordered_json ranks_json() const;
  [[nodiscard]] double ns(int64_t ticks) const {
    return static_cast<double>(ticks) / trace_.ticks_per_ns;
  }

 private:
  // How far the clock of the rank may be off.
  [[nodiscard]] int64_t error_of(uint32_t rank) const {
    const auto found = errors_.find(rank);
    return found == errors_.end() ? 0 : found->second;
  }

  const trace::Trace& trace_;
  std::map<uint32_t, int64_t> errors_;
  std::vector<RankWaits> ranks_;
};

// When the ranks of a collective came, and when the last one was done.
struct Meeting {
  const trace::Call* first = nullptr;
  const trace::Call* last = nullptr;
  int64_t end = INT64_MIN;
  bool is_open = false;
};

Meeting meeting_of(const JoinedCall& joined) {
  Meeting meeting{joined.calls.front(), joined.calls.front()};
  for (const trace::Call* call : joined.calls) {
    if (call->begin < meeting.first->begin) meeting.first = call;
    if (call->begin > meeting.last->begin) meeting.last = call;
    if (call->end == trace::kStillOpen) {
      meeting.is_open = true;
    } else {
      meeting.end = std::max(meeting.end, call->end);
    }
  }
  return meeting;
}

ordered_json Summary::call_json(const JoinedCall& joined, int64_t origin) {
  const Meeting meeting = meeting_of(joined);
  const int64_t last = meeting.last->begin;
  const int64_t skew = last - meeting.first->begin;
  const int64_t error =
      joined.calls.size() < 2 ? 0 : error_of(meeting.first->rank) + error_of(meeting.last->rank);
  ordered_json parts = ordered_json::array();
  for (const trace::Call* call : joined.calls) {
    const bool is_open = call->end == trace::kStillOpen;
    parts.push_back({call->rank, ns(call->begin - origin),
                     is_open ? ordered_json(nullptr) : ordered_json(ns(call->end - origin))});
  }
  // Who came last is known only where the clocks are better than the difference.
  const bool is_known = joined.calls.size() > 1 && skew > error;
  if (is_known) {
    ++ranks_[meeting.last->rank].times_last;
    for (const trace::Call* call : joined.calls) {
      ranks_[call->rank].waited_for[meeting.last->rank].push_back({call->begin, last});
    }
  }
  ordered_json json{{"what", joined.what},
                    {"ranks", std::move(parts)},
                    {"begin_ns", ns(meeting.first->begin - origin)},
                    {"skew_ns", ns(skew)},
                    {"error_ns", ns(error)},
                    {"open", meeting.is_open}};
  json["last_rank"] = is_known ? ordered_json(meeting.last->rank) : ordered_json(nullptr);
  // A rank may leave before the last has come: a broadcast's root need not wait for anybody.
  json["transfer_ns"] = meeting.is_open ? ordered_json(nullptr)
                                        : ordered_json(ns(std::max(meeting.end, last) - last));
  return json;
}

ordered_json Summary::ranks_json() const {
  std::vector<int64_t> made_wait(ranks_.size());
  std::vector<int64_t> waited(ranks_.size());
  for (uint32_t r = 0; r < ranks_.size(); ++r) {
    std::vector<TimeWindow> all;
    for (const auto& [last, waits] : ranks_[r].waited_for) {
      made_wait[last] += union_of(waits);
      all.insert(all.end(), waits.begin(), waits.end());
    }
    waited[r] = union_of(std::move(all));
  }
  ordered_json json = ordered_json::array();
  for (uint32_t r = 0; r < ranks_.size(); ++r) {
    json.push_back({{"rank", r},
                    {"times_last", ranks_[r].times_last},
                    {"made_wait_ns", ns(made_wait[r])},
                    {"waited_ns", ns(waited[r])}});
  }
  return json;
}

// `from` and `until` of the question, in ns from the beginning of the run; else all of it.
Result<TimeWindow> window_of(const Question& question, const trace::Trace& trace, TimeWindow span) {
  constexpr double kMostNs = 1e15;
  const auto ticks = [&](double ns) { return static_cast<int64_t>(ns * trace.ticks_per_ns); };
  TUTTI_ASSIGN(const double from, figure_of(question, "from", 0, kMostNs));
  TUTTI_ASSIGN(const double until, figure_of(question, "until", kMostNs, kMostNs));
  if (until <= from) {
    return Error{ErrorCode::kInvalidArgument, "the window of time ends before it begins"};
  }
  return TimeWindow{std::min(span.begin + ticks(from), span.end),
                    until == kMostNs ? span.end : std::min(span.begin + ticks(until), span.end)};
}

ordered_json calls_json(const std::vector<JoinedCall>& joined, Summary& summary, int64_t origin) {
  ordered_json calls = ordered_json::array();
  for (const JoinedCall& one : joined) {
    ordered_json call = summary.call_json(one, origin);
    if (calls.size() < kMostCalls) calls.push_back(std::move(call));
  }
  std::stable_sort(calls.begin(), calls.end(), [](const auto& a, const auto& b) {
    return a["begin_ns"].template get<double>() < b["begin_ns"].template get<double>();
  });
  return calls;
}

// From when the sender was done with its step until the taker was: real runs record no more.
trace::Event message_of(const trace::Delivery& delivery) {
  const auto& [sent, taken] = delivery;
  trace::Event message = *sent;
  message.kind = trace::EventKind::kMessage;
  message.peer = taken->rank;
  message.peer_lane = taken->lane;
  message.peer_step = taken->step;
  message.bytes = std::max(sent->bytes, taken->bytes);  // an announced send has none
  message.begin = sent->end == trace::kStillOpen ? sent->begin : std::min(sent->end, taken->end);
  message.end = taken->end;
  return message;
}

}  // namespace

Result<ordered_json> answer_trace(const Shelf& shelf, const Question& question) {
  TUTTI_ASSIGN(trace::Trace merged, merged_trace(shelf, question));
  if (merged.num_ranks > kMostTraceRanks) {
    return Error{ErrorCode::kUnsupported, "the trace has more ranks than a page can show"};
  }
  if (text_of(question, "to") == "chrome") {
    return ordered_json{{"chrome", trace::to_chrome(merged)}};
  }
  trace::Trace trace = trace::on_common_clock(std::move(merged));
  const TimeWindow span = span_of(trace);
  TUTTI_ASSIGN(const TimeWindow asked, window_of(question, trace, span));
  const std::vector<JoinedCall> joined = trace::join_calls(trace);
  std::vector<trace::Event> messages;
  for (const trace::Delivery& its : trace::deliveries_of(trace, joined)) {
    messages.push_back(message_of(its));
  }
  trace.events.insert(trace.events.end(), messages.begin(), messages.end());
  Summary summary(trace);
  ordered_json json{
      {"schema", kSchemaVersion},        {"source", trace::to_string(trace.source)},
      {"schedule", trace.schedule},      {"ranks", trace.num_ranks},
      {"lost", trace.num_lost},          {"span_ns", summary.ns(span.end - span.begin)},
      {"num_calls", joined.size()},      {"calls", calls_json(joined, summary, span.begin)},
      {"by_rank", summary.ranks_json()}, {"num_events", trace.events.size()}};
  TimeWindow window = asked;
  if (trace.num_ranks <= kMostLanes) {
    const WindowEvents drawn = events_in(trace, asked);
    window = drawn.window;
    json["num_asked"] = drawn.num_asked;
    json["events"] = events_json(drawn, trace, span.begin);
  } else {
    json["activity"] = activity_json(trace, asked);
  }
  json["window"] = {{"from_ns", summary.ns(window.begin - span.begin)},
                    {"until_ns", summary.ns(window.end - span.begin)}};
  return json;
}

}  // namespace tutti::view
