// A clock that costs a few nanoseconds: the processor's own counter, for the many times that are
// only looked at when something has to be explained. TickClock turns its ticks into base::now_ns.
#pragma once

#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "base/clock.h"

namespace tutti::base {

[[nodiscard]] inline uint64_t ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  uint64_t value = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return now_ns();
#endif
}

class TickClock {
 public:
  TickClock() : first_ticks_(ticks()), first_ns_(now_ns()) {}

  // The rate, from when the clock was made until now. Exact after some milliseconds.
  struct Rate {
    double ns_per_tick = 1;
  };
  [[nodiscard]] Rate rate() const {
    const uint64_t passed = ticks() - first_ticks_;
    const uint64_t ns = now_ns() - first_ns_;
    return {passed == 0 ? 1.0 : static_cast<double>(ns) / static_cast<double>(passed)};
  }
  // Ticks from before the clock was made too.
  [[nodiscard]] uint64_t to_ns(uint64_t at, Rate rate) const {
    const auto passed = static_cast<double>(static_cast<int64_t>(at - first_ticks_));
    return first_ns_ + static_cast<uint64_t>(static_cast<int64_t>(passed * rate.ns_per_tick));
  }

 private:
  uint64_t first_ticks_;
  uint64_t first_ns_;
};

}  // namespace tutti::base
