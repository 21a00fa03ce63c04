// The trace file: a header object, then an array for each clock offset, call and event. The header
// goes through the common JSON reader; the arrays are flat and many, so they have a scanner of
// their own.
#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <string>
#include <utility>

#include "base/json_document.h"
#include "base/try.h"
#include "trace/quoted.h"
#include "trace/trace.h"

namespace tutti::trace {
namespace {

constexpr uint32_t kMaxRanks = 1u << 24;

void append_number_or_null(std::string& out, int64_t value, bool is_null) {
  if (is_null) {
    out += "null,";
  } else {
    fmt::format_to(std::back_inserter(out), "{},", value);
  }
}

void append_event(std::string& out, const Event& e) {
  fmt::format_to(std::back_inserter(out), "[\"{}\",\"{}\",{},", to_string(e.kind), to_string(e.op),
                 e.begin);
  append_number_or_null(out, e.end, e.end == kStillOpen);
  fmt::format_to(std::back_inserter(out), "{},{},{},", e.rank, e.lane, e.step);
  append_number_or_null(out, e.peer, e.peer == kNoPeer);
  fmt::format_to(std::back_inserter(out), "{},{},{},{}]\n", e.peer_lane, e.peer_step, e.bytes,
                 e.call);
}

// Takes the values of a flat array one by one. The first thing that is wrong is kept; what follows
// it yields zeros.
class ArrayScanner {
 public:
  explicit ArrayScanner(std::string_view line) : rest_(line) { expect('['); }

  std::string_view text() {
    comma();
    expect('"');
    const size_t end = rest_.find('"');
    if (end == std::string_view::npos) return fail("a text without its closing quote"), "";
    const std::string_view value = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return value;
  }

  // 64 bits as text: readers whose numbers are doubles would lose the last of them.
  uint64_t hexadecimal(const char* name) {
    const std::string_view digits = text();
    uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    const bool is_whole = digits.size() == 16 && end == digits.data() + digits.size();
    if (error != std::errc{} || !is_whole) {
      return fail(fmt::format("'{}' must be 16 hexadecimal digits", name)), 0;
    }
    return value;
  }

  template <class Integer>
  Integer integer(const char* name) {
    comma();
    skip_spaces();
    Integer value{};
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{})
      return fail(fmt::format("'{}' must be an integer that fits", name)), 0;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }

  template <class Integer>
  Integer integer_or_null(const char* name, Integer if_null) {
    comma();
    skip_spaces();
    if (rest_.substr(0, 4) != "null") {
      needs_comma_ = false;  // already taken
      return integer<Integer>(name);
    }
    rest_.remove_prefix(4);
    return if_null;
  }

  void end() {
    expect(']');
    skip_spaces();
    if (!rest_.empty()) fail("something follows the closing bracket");
  }

  void fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
    rest_ = {};
  }
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  void skip_spaces() {
    const size_t first = rest_.find_first_not_of(" \t\r");
    rest_.remove_prefix(first == std::string_view::npos ? rest_.size() : first);
  }
  void expect(char c) {
    skip_spaces();
    if (rest_.empty() || rest_.front() != c) return fail(fmt::format("expected '{}'", c));
    rest_.remove_prefix(1);
  }
  void comma() {
    if (std::exchange(needs_comma_, true)) expect(',');
  }

  std::string_view rest_;
  std::string error_;
  bool needs_comma_ = false;
};

class Reader {
 public:
  explicit Reader(std::string_view source_name) : source_name_(source_name) {}

  Status header(std::string_view line) {
    TUTTI_ASSIGN(auto document, base::JsonDocument::parse(line, std::string(source_name_)));
    const base::JsonValue root = document->root();
    root.only_fields({"tutti_trace", "source", "schedule", "ranks", "ticks_per_ns", "lost"});
    const uint32_t version = root.field("tutti_trace").uint32(1, UINT32_MAX);
    if (document->status() && version != kFormatVersion) {
      root.field("tutti_trace")
          .fail(fmt::format("version {} is not known, only {}: the file is of another "
                            "version of tutti; record the run anew with this one",
                            version, kFormatVersion));
    }
    const std::string_view source = root.field("source").string();
    if (document->status() && source != "simulator" && source != "engine") {
      root.field("source").fail("must be \"simulator\" or \"engine\"");
    }
    trace_.source = source == "engine" ? Source::kEngine : Source::kSimulator;
    trace_.schedule = root.field("schedule").string();
    trace_.num_ranks = root.field("ranks").uint32(1, kMaxRanks);
    trace_.ticks_per_ns = root.field("ticks_per_ns").uint32(1, 1000000);
    trace_.num_lost = root.field("lost").uint64(0, UINT64_MAX);
    return document->status();
  }

  Status line(std::string_view text, size_t line_number) {
    ArrayScanner scan(text);
    const std::string_view kind = scan.text();
    if (kind == "clock") {
      read_clock(scan);
    } else if (kind == "call") {
      read_call(scan);
    } else {
      read_event(scan, kind);
    }
    if (scan.error().empty()) return {};
    return Error{ErrorCode::kMalformed,
                 fmt::format("{}:{}: {}", source_name_, line_number, scan.error())};
  }

  Trace take() && { return std::move(trace_); }

 private:
  void read_clock(ArrayScanner& scan) {
    ClockOffset clock;
    clock.rank = rank(scan, "rank");
    clock.offset = scan.integer<int64_t>("offset");
    clock.error = scan.integer<int64_t>("error");
    scan.end();
    trace_.clocks.push_back(clock);
  }

  void read_call(ArrayScanner& scan) {
    Call call;
    call.rank = rank(scan, "rank");
    call.call = scan.integer<uint32_t>("call");
    call.begin = scan.integer<int64_t>("begin");
    call.end = scan.integer_or_null<int64_t>("end", kStillOpen);
    if (call.end < call.begin) scan.fail("it ends before it begins");
    call.what = scan.text();
    if (call.what != plain_text(call.what)) scan.fail("'what' must be plain text");
    call.operation = scan.hexadecimal("operation");
    scan.end();
    trace_.calls.push_back(std::move(call));
  }

  void read_event(ArrayScanner& scan, std::string_view kind_name) {
    Event e;
    const auto kind = parse_event_kind(kind_name);
    if (!kind) scan.fail(fmt::format("no kind of event is called '{}'", kind_name));
    const std::string_view op_name = scan.text();
    const auto op = parse_op(op_name);
    if (!op) scan.fail(fmt::format("no kind of step is called '{}'", op_name));
    e.kind = kind.value_or(EventKind::kStep);
    e.op = op.value_or(Op::kCopy);
    e.begin = scan.integer<int64_t>("begin");
    e.end = scan.integer_or_null<int64_t>("end", kStillOpen);
    if (e.end < e.begin) scan.fail("it ends before it begins");
    e.rank = rank(scan, "rank");
    e.lane = scan.integer<uint32_t>("lane");
    e.step = scan.integer<uint32_t>("step");
    e.peer = scan.integer_or_null<uint32_t>("peer", kNoPeer);
    if (e.peer != kNoPeer) check_rank(scan, e.peer, "peer");
    e.peer_lane = scan.integer<uint32_t>("peer_lane");
    e.peer_step = scan.integer<uint32_t>("peer_step");
    e.bytes = scan.integer<uint64_t>("bytes");
    e.call = scan.integer<uint32_t>("call");
    scan.end();
    trace_.events.push_back(e);
  }

  uint32_t rank(ArrayScanner& scan, const char* name) const {
    const auto value = scan.integer<uint32_t>(name);
    check_rank(scan, value, name);
    return value;
  }
  void check_rank(ArrayScanner& scan, uint32_t value, const char* name) const {
    if (value < trace_.num_ranks) return;
    scan.fail(
        fmt::format("'{}' is {}, but the trace is of {} ranks", name, value, trace_.num_ranks));
  }

  std::string_view source_name_;
  Trace trace_;
};

}  // namespace

std::string_view to_string(Source source) noexcept {
  switch (source) {
    case Source::kSimulator: return "simulator";
    case Source::kEngine: return "engine";
  }
  return "unknown";
}

std::string plain_text(std::string_view text) {
  std::string plain(text);
  for (char& c : plain) {
    if (c == '"') c = '\'';
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || c == '\\') c = '?';
  }
  return plain;
}

std::string to_json_lines(const Trace& trace) {
  std::string out = fmt::format(
      "{{\"tutti_trace\":{},\"source\":\"{}\",\"schedule\":{},\"ranks\":{},"
      "\"ticks_per_ns\":{},\"lost\":{}}}\n",
      kFormatVersion, to_string(trace.source), quoted(trace.schedule), trace.num_ranks,
      trace.ticks_per_ns, trace.num_lost);
  for (const ClockOffset& clock : trace.clocks) {
    fmt::format_to(std::back_inserter(out), "[\"clock\",{},{},{}]\n", clock.rank, clock.offset,
                   clock.error);
  }
  for (const Call& call : trace.calls) {
    fmt::format_to(std::back_inserter(out), "[\"call\",{},{},{},", call.rank, call.call,
                   call.begin);
    append_number_or_null(out, call.end, call.end == kStillOpen);
    fmt::format_to(std::back_inserter(out), "\"{}\",\"{:016x}\"]\n", plain_text(call.what),
                   call.operation);
  }
  for (const Event& event : trace.events) append_event(out, event);
  return out;
}

Result<Trace> parse_json_lines(std::string_view text, std::string_view source_name) {
  Reader reader(source_name);
  size_t line_number = 0;
  while (!text.empty()) {
    ++line_number;
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line_number == 1) {
      TUTTI_TRY(reader.header(line));
    } else if (!line.empty()) {
      TUTTI_TRY(reader.line(line, line_number));
    }
  }
  if (line_number == 0) {
    return Error{ErrorCode::kMalformed,
                 fmt::format("{}:1: a trace begins with its header", source_name)};
  }
  return std::move(reader).take();
}

}  // namespace tutti::trace
