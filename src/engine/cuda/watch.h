// Operations that nobody waits for in the host, as those of streams and graphs: a thread sees to it
// that their daemons come back as often as they leave, and tells how each ended that was submitted.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/cuda/daemon.h"

namespace tutti::engine::cuda {

// Who wants to know how operations end. Called by the watch's thread, which holds no lock then;
// must not wait.
class Ending {
 public:
  Ending() = default;
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;
  virtual ~Ending() = default;

  virtual void began(const DeviceRequest& request) = 0;  // in the thread that enqueues it
  virtual void ended(uint64_t operation, const Completion& how) = 0;
  // Copies that a stream makes, of which nothing else tells.
  virtual void began_copies() = 0;  // in the thread that enqueues them
  virtual void ended_copies(const Status& how) = 0;
};

// How many of a stream's operations and copies have not ended. Any thread.
class UnderWay {
 public:
  void add() { num_.fetch_add(1, std::memory_order_relaxed); }
  // Pairs with is_none.
  void remove() { num_.fetch_sub(1, std::memory_order_release); }
  [[nodiscard]] bool is_none() const { return num_.load(std::memory_order_acquire) == 0; }

 private:
  std::atomic<uint32_t> num_{0};
};

// A word that a stream writes when it has come past something.
struct Milestone {
  const uint32_t* word = nullptr;  // in memory of the host
  uint32_t value = 0;
};

struct Watched {
  Daemon* daemon = nullptr;  // outlives the operation
  Daemon::Ticket ticket = {};
  uint64_t operation = 0;
  Ending* ending = nullptr;     // outlives the operation; null: nobody
  Milestone milestone = {};     // if it has one, copies up to there instead of an operation
  UnderWay* counter = nullptr;  // outlives it too; counts it down when all is told
};

class Watch {
 public:
  Watch();
  // All operations have ended.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void add(const Watched& operation);
  // Waits until all have ended, who wants to know has been told, and what was released is gone.
  void wait_for_all();

  // From now on operations of the daemon may be triggered (triggers.h) without a word to the host;
  // as often as it is said, `stand_down` says that it is over. Outlives that.
  void stand_by(Daemon& daemon);
  void stand_down(Daemon& daemon);
  // Destroyed by the watch's thread. For whoever must not wait, nor use the device.
  void release(std::shared_ptr<void> what);

 private:
  void run();
  // One look at everything. With the lock, but for the look itself.
  void look(std::unique_lock<std::mutex>& lock, std::vector<Watched>& operations);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watched> added_;  // that the thread has not taken over yet
  std::vector<std::shared_ptr<void>> released_;
  std::vector<Daemon*> standing_;  // as often as it was said
  size_t num_under_way_ = 0;       // and released
  uint64_t last_here_ns_ = 0;      // when a standing daemon was last not away; the thread's own
  bool is_asleep_ = false;         // and must be told of what is added
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace tutti::engine::cuda
