// A trace: the events of one run of a schedule, and what is needed to read their times.
// The file format is JSON Lines (docs/reference/trace.md); to_chrome makes the file that Perfetto
// and chrome://tracing open.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/event.h"
#include "tutti/result.h"

namespace tutti::trace {

inline constexpr uint32_t kFormatVersion = 2;

enum class Source : uint8_t { kSimulator, kEngine };
[[nodiscard]] std::string_view to_string(Source source) noexcept;

// Ranks on different hosts have different clocks: common time = rank's time + offset.
struct ClockOffset {
  uint32_t rank = 0;
  int64_t offset = 0;  // ticks
  int64_t error = 0;   // the offset is known up to so many ticks

  friend bool operator==(const ClockOffset&, const ClockOffset&) = default;
};

// A collective call of a rank, from when it was issued until it was over there.
struct Call {
  uint32_t rank = 0;
  uint32_t call = 0;  // as in the events of its steps
  int64_t begin = 0;
  int64_t end = 0;   // kStillOpen: it was under way when the trace was taken
  std::string what;  // "all_reduce 'grad' of 1024 float32, sum": plain_text
  // Which operation it is part of: equal on all its ranks, and unlike that of any other.
  uint64_t operation = 0;

  friend bool operator==(const Call&, const Call&) = default;
};

// The text as it stands in a trace: a quotation mark becomes ', a backslash or a control character
// becomes ?.
[[nodiscard]] std::string plain_text(std::string_view text);

struct Trace {
  Source source = Source::kSimulator;
  std::string schedule;  // its name
  uint32_t num_ranks = 0;
  uint32_t ticks_per_ns = 1;        // the simulator has 1000: its ticks are picoseconds
  std::vector<ClockOffset> clocks;  // ranks that are not here share the common clock
  uint64_t num_lost = 0;            // events that were overwritten before they were read
  std::vector<Call> calls;          // the simulator has none
  std::vector<Event> events;

  friend bool operator==(const Trace&, const Trace&) = default;
};

[[nodiscard]] std::string to_json_lines(const Trace& trace);

// `source_name` names the text in errors: a file name. kMalformed with "FILE:LINE: ..." for the
// first line that is not as docs/reference/trace.md says.
[[nodiscard]] Result<Trace> parse_json_lines(std::string_view text, std::string_view source_name);

// The traces of a run's ranks, one each, as one. kInvalidArgument when they are not of one run.
[[nodiscard]] Result<Trace> merge(std::vector<Trace> traces);

// Chrome's trace event format. A rank is a process and a lane is a thread; a message is an arrow
// from the sending step to the taking one; a call is a row of its own above the lanes.
[[nodiscard]] std::string to_chrome(const Trace& trace);

}  // namespace tutti::trace
