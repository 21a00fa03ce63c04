#include "engine/cuda/watch.h"

#include <chrono>

#include "base/clock.h"
#include "base/library_thread.h"

namespace tutti::engine::cuda {
namespace {

// A daemon stays for 10 ms; one that is away is missed for so long at most.
constexpr auto kBetweenLooks = std::chrono::microseconds(50);
// When nothing is under way it goes on looking for a while: to wake it takes whoever adds an
// operation microseconds.
constexpr uint64_t kLingerNs = 2'000'000;

bool is_over(const Watched& operation) {
  const auto& [word, value] = operation.milestone;
  if (word == nullptr) return Daemon::is_over(operation.ticket);
  // Pairs with the stream's write.
  return !is_earlier(load_acquire(word), value);
}

void tell(const Watched& operation) {
  if (operation.milestone.word != nullptr) {
    if (operation.ending != nullptr) operation.ending->ended_copies(operation.daemon->failure());
    return;
  }
  // Liveness: it is over, or the device has failed.
  const Completion how = operation.daemon->wait(operation.ticket, 0);
  if (operation.ending != nullptr) operation.ending->ended(operation.operation, how);
}

// Takes out what has ended and says how many that were; brings back the daemons of the rest.
size_t look(std::vector<Watched>& operations) {
  const size_t num_ended = std::erase_if(operations, [](const Watched& operation) {
    if (!is_over(operation) && operation.daemon->failure()) return false;
    tell(operation);
    if (operation.counter != nullptr) operation.counter->remove();
    return true;
  });
  for (const Watched& operation : operations) {
    // A device that cannot launch any more has failed: then all operations end.
    static_cast<void>(operation.daemon->keep_going());
  }
  return num_ended;
}

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
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    added_.push_back(operation);
    ++num_under_way_;
    wakes = is_asleep_;
  }
  if (wakes) changed_.notify_all();
}

void Watch::wait_for_all() {
  std::unique_lock lock(mutex_);
  // Liveness: every operation ends, at its deadline if not before, once its stream has come to it;
  // and is then counted.
  changed_.wait(lock, [this] { return num_under_way_ == 0; });
}

// Looks without the lock: who is told of an end takes locks of his own, under which others call
// add.
void Watch::run() {
  std::vector<Watched> operations;
  uint64_t busy_at = base::now_ns();
  std::unique_lock lock(mutex_);
  // Liveness: the end is announced.
  while (!is_over_) {
    operations.insert(operations.end(), added_.begin(), added_.end());
    added_.clear();
    const uint64_t now = base::now_ns();
    if (!operations.empty()) busy_at = now;
    if (operations.empty() && now - busy_at > kLingerNs) {
      is_asleep_ = true;
      // Liveness: what is added is announced, and so is the end.
      changed_.wait(lock, [this] { return is_over_ || !added_.empty(); });
      is_asleep_ = false;
      continue;
    }
    lock.unlock();
    const size_t num_ended = look(operations);
    lock.lock();
    num_under_way_ -= num_ended;
    if (num_under_way_ == 0) changed_.notify_all();
    // Liveness: it ends with the time.
    changed_.wait_for(lock, kBetweenLooks, [this] { return is_over_; });
  }
}

}  // namespace tutti::engine::cuda
