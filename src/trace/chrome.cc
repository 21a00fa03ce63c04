// Chrome's trace event format, the JSON that Perfetto reads: complete slices (ph X), slices that
// never ended (ph B), calls (ph b and e), flows for messages (ph s and f), names of processes and
// threads (ph M).
// Its times are microseconds; three decimals are ns and six are ps.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "trace/joined.h"
#include "trace/quoted.h"
#include "trace/trace.h"

namespace tutti::trace {
namespace {

class ChromeWriter {
 public:
  explicit ChromeWriter(const Trace& trace) : trace_(trace), offsets_(trace.num_ranks, 0) {
    for (const ClockOffset& clock : trace.clocks) offsets_[clock.rank] = clock.offset;
  }

  std::string write() && {
    out_ = "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"schedule\":" + quoted(trace_.schedule) +
           fmt::format(",\"source\":\"{}\",\"lost\":{}}},\"traceEvents\":[\n",
                       to_string(trace_.source), trace_.num_lost);
    names();
    for (const Call& call : trace_.calls) call_slice(call);
    index_messages();
    for (const Event& event : trace_.events) {
      if (event.kind == EventKind::kMessage) continue;
      slice(event);
      if (event.kind == EventKind::kStep) flows_of(event);
    }
    out_ += "\n]}\n";
    return std::move(out_);
  }

 private:
  void begin_record() {
    if (!std::exchange(first_, false)) out_ += ",\n";
  }

  template <class... Args>
  void record(fmt::format_string<Args...> format, Args&&... args) {
    begin_record();
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  // Exact decimal microseconds: 53 bits of a double are too few for a long run in ps.
  std::string micros(uint32_t rank, int64_t ticks) const { return decimal(ticks + offsets_[rank]); }
  std::string decimal(int64_t ticks) const {
    const uint64_t per_us = uint64_t{trace_.ticks_per_ns} * 1000;
    const bool negative = ticks < 0;
    const uint64_t magnitude =
        negative ? -static_cast<uint64_t>(ticks) : static_cast<uint64_t>(ticks);
    const auto fraction = static_cast<double>(magnitude % per_us) / static_cast<double>(per_us);
    const auto millionths = static_cast<uint64_t>(std::llround(fraction * 1e6));
    return fmt::format("{}{}.{:06}", negative ? "-" : "", magnitude / per_us + millionths / 1000000,
                       millionths % 1000000);
  }

  void names() {
    std::set<std::pair<uint32_t, uint32_t>> lanes;
    for (const Event& event : trace_.events) lanes.emplace(event.rank, event.lane);
    for (uint32_t rank = 0; rank < trace_.num_ranks; ++rank) {
      record(
          "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{0},\"args\":{{\"name\":\"rank "
          "{0}\"}}}}",
          rank);
      record(
          "{{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":{0},\"args\":{{\"sort_index\":{0}"
          "}}}}",
          rank);
    }
    for (const auto& [rank, lane] : lanes) {
      record(
          "{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{0},\"tid\":{1},"
          "\"args\":{{\"name\":\"lane {1}\"}}}}",
          rank, lane);
    }
  }

  void slice(const Event& e) {
    const bool waits = e.kind == EventKind::kWait;
    const bool open = e.end == kStillOpen;
    begin_record();
    fmt::format_to(
        std::back_inserter(out_),
        "{{\"ph\":\"{}\",\"name\":\"{}{}\",\"cat\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{}",
        open ? "B" : "X", waits ? "wait: " : "", to_string(e.op), to_string(e.kind), e.rank, e.lane,
        micros(e.rank, e.begin));
    if (!open) fmt::format_to(std::back_inserter(out_), ",\"dur\":{}", decimal(e.end - e.begin));
    fmt::format_to(std::back_inserter(out_), ",\"args\":{{\"step\":{},\"bytes\":{},\"call\":{}",
                   e.step, e.bytes, e.call);
    if (e.peer != kNoPeer) fmt::format_to(std::back_inserter(out_), ",\"peer\":{}", e.peer);
    out_ += "}}";
  }

  // Calls overlap, so they are asynchronous slices, which viewers stack.
  void call_slice(const Call& call) {
    const std::string name = quoted(call.what);
    record(
        "{{\"ph\":\"b\",\"name\":{},\"cat\":\"call\",\"id\":\"{}.{}\",\"pid\":{},\"tid\":0,"
        "\"ts\":{}}}",
        name, call.rank, call.call, call.rank, micros(call.rank, call.begin));
    if (call.end == kStillOpen) return;
    record(
        "{{\"ph\":\"e\",\"name\":{},\"cat\":\"call\",\"id\":\"{}.{}\",\"pid\":{},\"tid\":0,"
        "\"ts\":{}}}",
        name, call.rank, call.call, call.rank, micros(call.rank, call.end));
  }

  // Viewers bind an end of a flow to the slice that was last begun on its thread, so both ends
  // stand right behind the slices they belong to, at their times.
  void flows_of(const Event& e) {
    const StepKey key{e.rank, e.lane, e.step, e.call};
    if (const auto sent = sent_by_.find(key); sent != sent_by_.end()) {
      const Arrow& arrow = arrows_[sent->second];
      record(
          "{{\"ph\":\"s\",\"name\":\"message\",\"cat\":\"message\",\"id\":{},\"pid\":{},\"tid\":{},"
          "\"ts\":{},\"args\":{{\"bytes\":{},\"to\":{}}}}}",
          sent->second, e.rank, e.lane, micros(e.rank, e.begin), arrow.bytes, arrow.to);
    }
    if (const auto taken = taken_by_.find(key); taken != taken_by_.end()) {
      record(
          "{{\"ph\":\"f\",\"bp\":\"e\",\"name\":\"message\",\"cat\":\"message\",\"id\":{},\"pid\":{"
          "},"
          "\"tid\":{},\"ts\":{},\"args\":{{\"from\":{}}}}}",
          taken->second, e.rank, e.lane, micros(e.rank, e.begin), arrows_[taken->second].from);
    }
  }

  // An arrow needs both its slices; what a ring lost, it cannot have. The simulator records
  // messages; of a real run they are put together from their two steps.
  void index_messages() {
    for (const auto& [sent, taken] : deliveries_of(trace_, join_calls(trace_))) {
      const uint64_t bytes = std::max(sent->bytes, taken->bytes);
      add_arrow({sent->rank, sent->lane, sent->step, sent->call},
                {taken->rank, taken->lane, taken->step, taken->call},
                {sent->rank, taken->rank, bytes});
    }
    std::set<StepKey> steps;
    for (const Event& e : trace_.events) {
      if (e.kind == EventKind::kStep) steps.insert({e.rank, e.lane, e.step, e.call});
    }
    for (const Event& e : trace_.events) {
      const StepKey sender{e.rank, e.lane, e.step, e.call};
      const StepKey taker{e.peer, e.peer_lane, e.peer_step, e.call};
      if (e.kind != EventKind::kMessage || !steps.contains(sender) || !steps.contains(taker)) {
        continue;
      }
      add_arrow(sender, taker, {e.rank, e.peer, e.bytes});
    }
  }

  using StepKey = std::array<uint32_t, 4>;  // rank, lane, step, call
  struct Arrow {
    uint32_t from;
    uint32_t to;
    uint64_t bytes;
  };

  void add_arrow(const StepKey& sender, const StepKey& taker, const Arrow& arrow) {
    sent_by_[sender] = taken_by_[taker] = arrows_.size();
    arrows_.push_back(arrow);
  }

  std::vector<Arrow> arrows_;
  std::map<StepKey, size_t> sent_by_;  // to the number of its arrow
  std::map<StepKey, size_t> taken_by_;
  const Trace& trace_;
  std::vector<int64_t> offsets_;
  std::string out_;
  bool first_ = true;
};

}  // namespace

std::string to_chrome(const Trace& trace) { return ChromeWriter(trace).write(); }

}  // namespace tutti::trace
