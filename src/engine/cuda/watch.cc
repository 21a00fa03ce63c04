#include "engine/cuda/watch.h"

#include <chrono>

#include "base/library_thread.h"

namespace tutti::engine::cuda {
namespace {

// A daemon stays for 10 ms; one that is away is missed for so long at most.
constexpr auto kBetweenLooks = std::chrono::microseconds(50);

}  // namespace

Watch::Watch() : thread_(base::start_library_thread("tutti-gpu", [this] { run(); })) {}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watch::add(const Watched& operation) {
  {
    const std::lock_guard lock(mutex_);
    entries_.push_back(operation);
  }
  changed_.notify_all();
}

void Watch::wait_for_all() {
  std::unique_lock lock(mutex_);
  // Liveness: every operation ends, at its deadline if not before, once its stream has come to it;
  // and is then taken out.
  changed_.wait(lock, [this] { return entries_.empty(); });
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
  std::erase_if(entries_, [](const Watched& operation) {
    if (!Daemon::is_over(operation.ticket) && operation.daemon->failure()) return false;
    // Liveness: it is over, or the device has failed.
    const Completion how = operation.daemon->wait(operation.ticket, 0);
    if (operation.ending != nullptr) operation.ending->ended(operation.operation, how);
    return true;
  });
  for (const Watched& operation : entries_) {
    // A device that cannot launch any more has failed: then all operations end.
    static_cast<void>(operation.daemon->keep_going());
  }
}

}  // namespace tutti::engine::cuda
