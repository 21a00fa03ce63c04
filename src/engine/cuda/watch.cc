#include "engine/cuda/watch.h"

#include <algorithm>
#include <chrono>

namespace tutti::engine::cuda {
namespace {

// A daemon stays for 10 ms; one that is away is missed for so long at most.
constexpr auto kBetweenLooks = std::chrono::microseconds(50);

}  // namespace

Watch::Watch() : thread_([this] { run(); }) {}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watch::add(Daemon& daemon, const Daemon::Ticket& ticket) {
  {
    const std::lock_guard lock(mutex_);
    entries_.push_back({&daemon, ticket});
  }
  changed_.notify_all();
}

std::optional<Completion> Watch::wait_for_all() {
  std::unique_lock lock(mutex_);
  // Liveness: every operation ends, at its deadline if not before, and is then taken out.
  changed_.wait(lock, [this] { return entries_.empty(); });
  return first_failure_;
}

void Watch::run() {
  std::unique_lock lock(mutex_);
  // Liveness: the end is announced.
  while (!is_over_) {
    if (entries_.empty()) {
      // Liveness: what is added is announced, and so is the end.
      changed_.wait(lock, [this] { return is_over_ || !entries_.empty(); });
      continue;
    }
    look();
    if (entries_.empty()) changed_.notify_all();
    // Liveness: it ends with the time.
    changed_.wait_for(lock, kBetweenLooks, [this] { return is_over_; });
  }
}

void Watch::look() {
  std::erase_if(entries_, [this](const Entry& entry) {
    if (!Daemon::is_over(entry.ticket)) return false;
    const Completion how = entry.daemon->wait(entry.ticket, 0);
    const bool is_done = how.outcome == static_cast<uint32_t>(Outcome::kDone);
    if (!is_done && !first_failure_) first_failure_ = how;
    return true;
  });
  for (const Entry& entry : entries_) {
    // A device that cannot launch any more cannot be helped here: whoever submits next hears of it.
    static_cast<void>(entry.daemon->keep_going());
  }
}

}  // namespace tutti::engine::cuda
