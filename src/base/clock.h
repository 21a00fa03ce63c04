// The clock that deadlines are on: monotonic, in nanoseconds.
#pragma once

#include <cstdint>
#include <ctime>

namespace tutti::base {

[[nodiscard]] inline uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// The same clock as of its last tick, some milliseconds ago, at a fraction of the cost: for
// deadlines, most of which are never looked at.
[[nodiscard]] inline uint64_t coarse_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace tutti::base
