#include "base/settings.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

namespace tutti::base {
namespace {

// As many as a daemon has room for: engine/cuda/daemon_state.h.
constexpr uint32_t kMostGpuWorkers = 64;

class Reader {
 public:
  Reader(const VariableLookup& lookup, std::vector<std::string>& complaints)
      : lookup_(lookup), complaints_(complaints) {}

  void read(const char* name, LogLevel& level) const {
    const auto value = lookup_(name);
    if (!value) return;
    const auto parsed = parse_log_level(*value);
    if (!parsed) return complain(name, *value, "NONE, VERSION, WARN, INFO or TRACE");
    level = *parsed;
  }

  void read(const char* name, bool& flag) const {
    const auto value = lookup_(name);
    if (!value) return;
    if (*value != "0" && *value != "1") return complain(name, *value, "0 or 1");
    flag = *value == "1";
  }

  void read_seconds(const char* name, uint64_t& ns) const {
    constexpr double kMostSeconds = 1e9;
    const auto value = lookup_(name);
    if (!value) return;
    double seconds = 0;
    const char* const end = value->data() + value->size();
    const auto [rest, error] = std::from_chars(value->data(), end, seconds);
    const bool is_number = error == std::errc() && rest == end && std::isfinite(seconds);
    if (!is_number || seconds < 0 || seconds > kMostSeconds) {
      return complain(name, *value, "a number of seconds, such as 10 or 0.5");
    }
    ns = static_cast<uint64_t>(seconds * 1e9);
  }

  struct Range {
    uint32_t least, most;
  };
  void read(const char* name, uint32_t& number, Range range) const {
    const auto value = lookup_(name);
    if (!value) return;
    uint32_t parsed = 0;
    const char* const end = value->data() + value->size();
    const auto [rest, error] = std::from_chars(value->data(), end, parsed);
    const bool is_number = error == std::errc() && rest == end;
    if (!is_number || parsed < range.least || parsed > range.most) {
      const std::string wanted = fmt::format("a number from {} to {}", range.least, range.most);
      return complain(name, *value, wanted.c_str());
    }
    number = parsed;
  }

  void read(const char* name, std::string& text) const { text = lookup_(name).value_or(""); }

 private:
  void complain(const char* name, const std::string& value, const char* wanted) const {
    complaints_.push_back(fmt::format("{}='{}' is not {}; it is passed over", name, value, wanted));
  }

  const VariableLookup& lookup_;
  std::vector<std::string>& complaints_;
};

}  // namespace

Settings read_settings(const VariableLookup& lookup) {
  Settings settings;
  const Reader reader(lookup, settings.complaints);
  reader.read("TUTTI_DEBUG", settings.debug);
  reader.read("TUTTI_PROGRESS_THREAD", settings.progress_thread);
  reader.read_seconds("TUTTI_REPORT_AFTER", settings.report_after_ns);
  reader.read("TUTTI_FLIGHT_RECORDER", settings.flight_recorder);
  reader.read("TUTTI_TRACE", settings.trace);
  reader.read("TUTTI_GPU_WORKERS", settings.gpu_workers, {1, kMostGpuWorkers});
  return settings;
}

}  // namespace tutti::base
