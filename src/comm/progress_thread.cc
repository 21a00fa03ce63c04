#include "comm/progress_thread.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/library_thread.h"

namespace tutti::comm {
namespace {

// A caller that computes is helped after two short naps. One that waits costs naps that get longer.
constexpr uint64_t kShortestNapNs = 200'000;
constexpr uint64_t kLongestNapNs = 10'000'000;
// So long without operations and the next one has to wake us, which costs its caller a system call.
constexpr uint64_t kDrowsyNs = 100'000'000;
// A bell can be missed once (transport/endpoint.cc); then this ends the sleep.
constexpr uint64_t kBellNs = 10'000'000;

}  // namespace

ProgressThread::ProgressThread(engine::Engine& engine, Options options)
    : engine_(engine),
      options_(std::move(options)),
      thread_(base::start_library_thread("tutti-progress", [this] { run(); })) {}

ProgressThread::~ProgressThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_.store(true, std::memory_order_relaxed);
  }
  changed_.notify_all();
  engine_.endpoint().wake(engine_.endpoint().self());
  thread_.join();
}

void ProgressThread::run() {
  uint64_t nap_ns = kShortestNapNs;
  uint64_t quiet_since = base::now_ns();
  // Liveness: until the destructor; every round naps.
  while (!stopping_.load(std::memory_order_relaxed)) {
    tick_if_due();
    const bool is_attended = somebody_else_runs_it();
    const bool is_idle = !is_attended && this->is_idle();
    const uint64_t now = base::now_ns();
    if (!is_idle) quiet_since = now;
    if (!is_attended && options_.drives && !engine_.is_idle()) {
      drive();
      nap_ns = kShortestNapNs;
    } else if (is_idle && now - quiet_since >= kDrowsyNs) {
      sleep_until_noticed();
      nap_ns = kShortestNapNs;
      quiet_since = base::now_ns();
    }
    nap(nap_ns);
    nap_ns = std::min(2 * nap_ns, kLongestNapNs);
  }
}

// Until the operations are over or somebody else runs them.
void ProgressThread::drive() {
  const transport::Endpoint& endpoint = engine_.endpoint();
  // Liveness: every operation ends at its deadline; the destructor stops us at any time.
  while (!stopping_.load(std::memory_order_relaxed)) {
    tick_if_due();
    const bool moved = progress();
    if (somebody_else_runs_it()) return;
    if (moved) continue;
    if (engine_.is_idle()) return;
    const uint32_t ticket = endpoint.prepare_sleep();
    // What was published before the ticket rings no bell, so look once more.
    if (progress()) {
      endpoint.cancel_sleep();
    } else {
      endpoint.sleep(ticket, kBellNs);
    }
  }
}

bool ProgressThread::progress() {
  ++own_turns_;
  return engine_.progress();
}

// Who waits takes turns, or sleeps beside the bell.
bool ProgressThread::somebody_else_runs_it() {
  const uint64_t others = engine_.turns() - own_turns_;
  const bool had_turns = std::exchange(others_turns_, others) != others;
  return had_turns || engine_.endpoint().num_sleeping() != 0;
}

bool ProgressThread::is_idle() const {
  return engine_.is_idle() && (!options_.is_idle_elsewhere || options_.is_idle_elsewhere());
}

void ProgressThread::nap(uint64_t ns) {
  std::unique_lock lock(mutex_);
  // Liveness: the time passes.
  changed_.wait_for(lock, std::chrono::nanoseconds(ns),
                    [this] { return stopping_.load(std::memory_order_relaxed); });
}

void ProgressThread::sleep_until_noticed() {
  if (options_.tick) options_.tick();
  is_asleep_.store(true, std::memory_order_relaxed);
  // Looks under the locks of both: an operation that is issued later sees that we are asleep.
  if (!is_idle()) {
    is_asleep_.store(false, std::memory_order_relaxed);
    return;
  }
  std::unique_lock lock(mutex_);
  // Liveness: until an operation is issued, or the rank ends; there is nothing to do before.
  changed_.wait(lock, [this] {
    return !is_asleep_.load(std::memory_order_relaxed) || stopping_.load(std::memory_order_relaxed);
  });
}

void ProgressThread::wake_up() {
  {
    const std::lock_guard lock(mutex_);
    is_asleep_.store(false, std::memory_order_relaxed);
  }
  changed_.notify_all();
}

void ProgressThread::tick_if_due() {
  if (!options_.tick) return;
  const uint64_t now = base::now_ns();
  if (now < next_tick_ns_) return;
  next_tick_ns_ = now + options_.tick_ns;
  options_.tick();
}

}  // namespace tutti::comm
