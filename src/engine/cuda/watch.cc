#include "engine/cuda/watch.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/library_thread.h"

namespace tutti::engine::cuda {
namespace {

// A daemon stays for 50 ms; one that is away is missed for so long at most.
constexpr auto kBetweenLooks = std::chrono::microseconds(50);
// When nothing is under way it goes on looking for a while: to wake it takes whoever adds an
// operation microseconds.
constexpr uint64_t kLingerNs = 2'000'000;
// At daemons that may be triggered, when all have been away for a while: what is triggered first
// after that waits for so long at most.
constexpr auto kBetweenIdleLooks = std::chrono::milliseconds(1);
constexpr uint64_t kWhileNs = 100'000'000;

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
size_t end_some(std::vector<Watched>& operations) {
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

// Whether one of them is not away. What has failed stays away.
bool look_for_triggers(std::vector<Daemon*> daemons) {
  std::sort(daemons.begin(), daemons.end());
  daemons.erase(std::unique(daemons.begin(), daemons.end()), daemons.end());
  bool is_here = false;
  for (Daemon* const daemon : daemons) {
    const Result<bool> result = daemon->look_for_triggers();
    is_here = (result && *result) || is_here;
  }
  return is_here;
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
  // What it keeps may stand down.
  const auto released = std::exchange(released_, {});
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
  // and is then counted. What was released is gone after the next look.
  changed_.wait(lock, [this] { return num_under_way_ == 0; });
}

void Watch::stand_by(Daemon& daemon) {
  {
    const std::lock_guard lock(mutex_);
    standing_.push_back(&daemon);
  }
  changed_.notify_all();
}

void Watch::stand_down(Daemon& daemon) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find(standing_.begin(), standing_.end(), &daemon);
  if (found != standing_.end()) standing_.erase(found);
}

void Watch::release(std::shared_ptr<void> what) {
  {
    const std::lock_guard lock(mutex_);
    released_.push_back(std::move(what));
    ++num_under_way_;
  }
  changed_.notify_all();
}

// Looks without the lock: who is told of an end, and what is destroyed, takes locks of its own,
// under which others call add.
void Watch::look(std::unique_lock<std::mutex>& lock, std::vector<Watched>& operations) {
  auto released = std::exchange(released_, {});
  const auto standing = standing_;
  lock.unlock();
  const size_t num_ended = end_some(operations) + released.size();
  released.clear();
  if (look_for_triggers(standing)) last_here_ns_ = base::now_ns();
  lock.lock();
  num_under_way_ -= num_ended;
  if (num_under_way_ == 0) changed_.notify_all();
}

void Watch::run() {
  std::vector<Watched> operations;
  uint64_t busy_at = base::now_ns();
  std::unique_lock lock(mutex_);
  const auto has_news = [this] { return is_over_ || !added_.empty() || !released_.empty(); };
  // Liveness: the end is announced.
  while (!is_over_) {
    operations.insert(operations.end(), added_.begin(), added_.end());
    added_.clear();
    const uint64_t now = base::now_ns();
    if (!operations.empty() || !released_.empty()) busy_at = now;
    if (standing_.empty() && now - busy_at > kLingerNs) {
      is_asleep_ = true;
      // Liveness: what is added is announced, and so is the end.
      changed_.wait(lock, [&] { return has_news() || !standing_.empty(); });
      is_asleep_ = false;
      continue;
    }
    look(lock, operations);
    const bool is_idle =
        operations.empty() && !standing_.empty() && base::now_ns() - last_here_ns_ > kWhileNs;
    if (is_idle) {
      is_asleep_ = true;
      // Liveness: it ends with the time.
      changed_.wait_for(lock, kBetweenIdleLooks, has_news);
      is_asleep_ = false;
    } else {
      // Liveness: it ends with the time.
      changed_.wait_for(lock, kBetweenLooks, [this] { return is_over_; });
    }
  }
}

}  // namespace tutti::engine::cuda
