// Lines for people who look for what went wrong, on standard error: "[host:pid] rank 3 tutti INFO
// ...". Which ones is said by TUTTI_DEBUG, with NCCL's levels; without it there are none. Asking
// whether a level is on costs a load, so callers ask before they make a text.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tutti::base {

enum class LogLevel : uint8_t {
  kNone,
  kVersion,  // one line: which tutti this is
  kWarn,     // what is wrong or passed over
  kInfo,     // who is in the job, which algorithms are chosen
  kTrace,    // every call
};

// "NONE", "WARN", ...: in any case of letters.
[[nodiscard]] std::string_view to_string(LogLevel level) noexcept;
[[nodiscard]] std::optional<LogLevel> parse_log_level(std::string_view text) noexcept;

namespace internal {
inline std::atomic<LogLevel> log_level{LogLevel::kNone};
}

// For the whole process.
inline void set_log_level(LogLevel level) {
  internal::log_level.store(level, std::memory_order_relaxed);
}
[[nodiscard]] inline bool logs(LogLevel level) {
  return internal::log_level.load(std::memory_order_relaxed) >= level;
}

// One line, written at once. Nothing when the level is off.
void log(LogLevel level, uint32_t rank, std::string_view text);

// A text that stays together: many lines, one write, whatever the level.
void write_to_stderr(std::string_view text);

}  // namespace tutti::base
