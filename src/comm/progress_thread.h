// Runs a rank's operations while nobody else does: the caller has issued them and computes. A
// thread that waits or tests runs the engine itself, and then this one keeps away from it: it looks
// up now and then (at most every 10 ms), sees that the engine has had turns, and takes no lock. It
// never spins, and when the rank has no operations it sleeps until the next one is issued.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "engine/cpu/engine.h"

namespace tutti::comm {

class ProgressThread {
 public:
  struct Options {
    bool drives = true;  // false: only `tick`
    uint64_t tick_ns = UINT64_MAX;
    std::function<void()> tick;  // about so often while there are operations, and after the last
    std::function<bool()> is_idle_elsewhere;  // no others are to be ticked for; empty: never any
  };

  // Both outlive it.
  ProgressThread(engine::Engine& engine, Options options);
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  // After an operation was issued. One load, unless the rank had had none for a while.
  void notice() {
    if (is_asleep_.load(std::memory_order_relaxed)) wake_up();
  }
  // Until the next operation.
  [[nodiscard]] bool is_asleep() const { return is_asleep_.load(std::memory_order_relaxed); }

 private:
  void run();
  void drive();
  void nap(uint64_t ns);
  void sleep_until_noticed();
  void wake_up();
  void tick_if_due();
  bool somebody_else_runs_it();
  [[nodiscard]] bool is_idle() const;
  bool progress();

  engine::Engine& engine_;
  Options options_;
  uint64_t own_turns_ = 0;
  uint64_t others_turns_ = 0;  // when last looked
  uint64_t next_tick_ns_ = 0;

  std::atomic<bool> is_asleep_{false};  // until noticed; written under the mutex
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
};

}  // namespace tutti::comm
