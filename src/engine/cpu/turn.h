// Held by the one thread that runs an engine.
#pragma once

#include <sched.h>

#include <atomic>

namespace tutti::engine {

class Turn {
 public:
  explicit Turn(std::atomic<bool>& busy) : busy_(busy) {
    // Liveness: a turn moves a bounded number of bytes and never waits, so its holder gives it up.
    while (busy_.exchange(true, std::memory_order_acquire)) sched_yield();
  }
  ~Turn() { busy_.store(false, std::memory_order_release); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::atomic<bool>& busy_;
};

}  // namespace tutti::engine
