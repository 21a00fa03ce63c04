// What the launcher waits for in one round. Made anew for each: the state says what is wanted, so
// nothing can be registered and forgotten.
#pragma once

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "tools/launch/ending.h"

namespace tutti::tools::launch {

class PollSet {
 public:
  static constexpr size_t kNone = SIZE_MAX;

  [[nodiscard]] size_t add(int fd, short events) {
    entries_.push_back({fd, events, 0});
    return entries_.size() - 1;
  }
  // Whether anything, an error included, was seen on the entry.
  [[nodiscard]] bool is_ready(size_t index) const {
    return index != kNone && entries_[index].revents != 0;
  }

  // Until something is ready or the time has come; without a time as long as it takes.
  void wait(Time now, std::optional<Time> until) {
    timespec left{};
    if (until) {
      const Duration ns = *until <= now ? Duration::zero() : *until - now;
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(ns);
      left = {seconds.count(), (ns - seconds).count()};
    }
    // Liveness: the caller puts in something that will be ready, or a time. Errors (EINTR) are
    // rounds in which nothing was ready.
    if (ppoll(entries_.data(), entries_.size(), until ? &left : nullptr, nullptr) < 0) {
      for (pollfd& entry : entries_) entry.revents = 0;
    }
  }

 private:
  std::vector<pollfd> entries_;
};

// The earlier of two times that may be missing.
[[nodiscard]] inline std::optional<Time> earlier(std::optional<Time> a, std::optional<Time> b) {
  return a && b ? std::min(*a, *b) : (a ? a : b);
}

}  // namespace tutti::tools::launch
