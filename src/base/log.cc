#include "base/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <string>

namespace tutti::base {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  const std::string whole = name.data();
  return whole.substr(0, whole.find('.'));
}

}  // namespace

std::string_view to_string(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::kNone: return "NONE";
    case LogLevel::kVersion: return "VERSION";
    case LogLevel::kWarn: return "WARN";
    case LogLevel::kInfo: return "INFO";
    case LogLevel::kTrace: return "TRACE";
  }
  return "NONE";
}

std::optional<LogLevel> parse_log_level(std::string_view text) noexcept {
  std::string upper(text);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  for (const LogLevel level :
       {LogLevel::kNone, LogLevel::kVersion, LogLevel::kWarn, LogLevel::kInfo, LogLevel::kTrace}) {
    if (to_string(level) == upper) return level;
  }
  return std::nullopt;
}

void log(LogLevel level, uint32_t rank, std::string_view text) {
  if (!logs(level)) return;
  static const std::string host = host_name();
  write_to_stderr(
      fmt::format("[{}:{}] rank {} tutti {} {}\n", host, getpid(), rank, to_string(level), text));
}

void write_to_stderr(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // nobody reads it: there is no better place to say so
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace tutti::base
