// Chaos again and again, each time with the next seed, for a time or a number of seeds. Every run
// is a process of its own; after each, nothing may be left of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "tools/chaos/settings.h"
#include "tutti/result.h"

namespace tutti::tools::chaos {

// Both may be given: whichever comes first ends it.
struct Soak {
  std::optional<std::chrono::milliseconds> duration;
  uint64_t num_seeds = 0;  // 0: any number

  [[nodiscard]] bool is_wanted() const { return duration || num_seeds != 0; }
};

// `duration` as 30s, 10m or 1h; empty: none.
[[nodiscard]] Result<Soak> soak_from(const std::string& duration, uint64_t num_seeds);

// Stops at the first run that is not all right, with its output and the command that repeats it.
[[nodiscard]] int run_soak(const Settings& settings, const Soak& soak);

}  // namespace tutti::tools::chaos
