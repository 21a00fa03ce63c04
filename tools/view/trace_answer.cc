// What really happened: the calls of a run's ranks put together, with the time that ranks waited
// for the last to call told apart from the time that data took.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/try.h"
#include "tools/view/answers.h"
#include "tools/view/conditions.h"
#include "trace/trace.h"

namespace tutti::view {
namespace {

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

// One collective: the same call of several ranks. Times are of the common clock, in ticks.
struct Joined {
  std::string what;
  std::vector<const trace::Call*> calls;
};

class Clocks {
 public:
  explicit Clocks(const trace::Trace& trace) {
    for (const trace::ClockOffset& clock : trace.clocks) offsets_[clock.rank] = clock.offset;
  }
  [[nodiscard]] int64_t common(uint32_t rank, int64_t ticks) const {
    const auto found = offsets_.find(rank);
    return found == offsets_.end() || ticks == trace::kStillOpen ? ticks : ticks + found->second;
  }

 private:
  std::map<uint32_t, int64_t> offsets_;
};

// The n-th call of a rank with the same words meets the n-th of the others: that is how names meet
// in tutti, and unnamed calls of one kind and size come in one order.
std::vector<Joined> join_calls(const trace::Trace& trace) {
  std::map<std::pair<std::string, uint64_t>, size_t> place;
  std::map<std::pair<uint32_t, std::string>, uint64_t> seen;
  std::vector<const trace::Call*> calls;
  for (const trace::Call& call : trace.calls) calls.push_back(&call);
  std::stable_sort(calls.begin(), calls.end(), [](const auto* a, const auto* b) {
    return std::pair(a->rank, a->begin) < std::pair(b->rank, b->begin);
  });
  std::vector<Joined> all;
  for (const trace::Call* call : calls) {
    const uint64_t count = seen[{call->rank, call->what}]++;
    const auto [at, is_new] = place.try_emplace({call->what, count}, all.size());
    if (is_new) all.push_back({call->what, {}});
    all[at->second].calls.push_back(call);
  }
  return all;
}

struct RankSum {
  uint64_t times_last = 0;
  double made_wait_ns = 0;  // how long the others waited, together, because this one came last
  double waited_ns = 0;
};

class Summary {
 public:
  explicit Summary(const trace::Trace& trace)
      : trace_(trace), clocks_(trace), ranks_(trace.num_ranks) {
    origin_ = INT64_MAX;
    for (const trace::Call& call : trace.calls) {
      origin_ = std::min(origin_, clocks_.common(call.rank, call.begin));
    }
    for (const trace::Event& event : trace.events) {
      origin_ = std::min(origin_, clocks_.common(event.rank, event.begin));
    }
    if (origin_ == INT64_MAX) origin_ = 0;
  }

  [[nodiscard]] ordered_json call_json(const Joined& joined);
  [[nodiscard]] ordered_json ranks_json() const;
  [[nodiscard]] trace::Trace on_common_clock() const;
  [[nodiscard]] int64_t origin() const { return origin_; }

 private:
  [[nodiscard]] double ns(int64_t ticks) const {
    return static_cast<double>(ticks) / trace_.ticks_per_ns;
  }

  const trace::Trace& trace_;
  Clocks clocks_;
  int64_t origin_ = 0;
  std::vector<RankSum> ranks_;
};

ordered_json Summary::call_json(const Joined& joined) {
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;
  int64_t end = INT64_MIN;
  uint32_t last_rank = 0;
  bool is_open = false;
  ordered_json parts = ordered_json::array();
  for (const trace::Call* call : joined.calls) {
    const int64_t begin = clocks_.common(call->rank, call->begin);
    first = std::min(first, begin);
    if (begin > last) {
      last = begin;
      last_rank = call->rank;
    }
    ordered_json part{call->rank, ns(begin - origin_)};
    if (call->end == trace::kStillOpen) {
      is_open = true;
      part.push_back(nullptr);
    } else {
      end = std::max(end, clocks_.common(call->rank, call->end));
      part.push_back(ns(clocks_.common(call->rank, call->end) - origin_));
    }
    parts.push_back(std::move(part));
  }
  for (const trace::Call* call : joined.calls) {
    const double waited = ns(last - clocks_.common(call->rank, call->begin));
    ranks_[call->rank].waited_ns += waited;
    ranks_[last_rank].made_wait_ns += waited;
  }
  if (joined.calls.size() > 1) ++ranks_[last_rank].times_last;
  ordered_json json{
      {"what", joined.what},         {"ranks", std::move(parts)}, {"begin_ns", ns(first - origin_)},
      {"skew_ns", ns(last - first)}, {"last_rank", last_rank},    {"open", is_open}};
  // A rank may leave before the last has come: a broadcast's root need not wait for anybody.
  json["transfer_ns"] =
      is_open ? ordered_json(nullptr) : ordered_json(ns(std::max(end, last) - last));
  return json;
}

ordered_json Summary::ranks_json() const {
  ordered_json json = ordered_json::array();
  for (uint32_t r = 0; r < ranks_.size(); ++r) {
    json.push_back({{"rank", r},
                    {"times_last", ranks_[r].times_last},
                    {"made_wait_ns", ranks_[r].made_wait_ns},
                    {"waited_ns", ranks_[r].waited_ns}});
  }
  return json;
}

trace::Trace Summary::on_common_clock() const {
  trace::Trace trace = trace_;
  for (trace::Event& event : trace.events) {
    event.begin = clocks_.common(event.rank, event.begin);
    event.end = clocks_.common(event.rank, event.end);
  }
  return trace;
}

}  // namespace

Result<ordered_json> answer_trace(const Shelf& shelf, const Question& question) {
  TUTTI_ASSIGN(const trace::Trace trace, merged_trace(shelf, question));
  if (trace.num_ranks > kMostTraceRanks) {
    return Error{ErrorCode::kUnsupported, "the trace has more ranks than a page can show"};
  }
  if (text_of(question, "to") == "chrome") {
    return ordered_json{{"chrome", trace::to_chrome(trace)}};
  }
  Summary summary(trace);
  ordered_json calls = ordered_json::array();
  size_t num_calls = 0;
  for (const Joined& joined : join_calls(trace)) {
    ordered_json call = summary.call_json(joined);
    if (++num_calls <= kMostCalls) calls.push_back(std::move(call));
  }
  std::stable_sort(calls.begin(), calls.end(), [](const auto& a, const auto& b) {
    return a["begin_ns"].template get<double>() < b["begin_ns"].template get<double>();
  });
  return ordered_json{{"schema", kSchemaVersion},
                      {"source", trace::to_string(trace.source)},
                      {"schedule", trace.schedule},
                      {"ranks", trace.num_ranks},
                      {"lost", trace.num_lost},
                      {"num_calls", num_calls},
                      {"calls", std::move(calls)},
                      {"by_rank", summary.ranks_json()},
                      {"num_events", trace.events.size()},
                      {"events", events_json(summary.on_common_clock(), summary.origin())}};
}

}  // namespace tutti::view
