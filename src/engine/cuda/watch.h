// Operations that nobody waits for in the host, as those of streams: a thread sees to it that their
// daemons come back as often as they leave, and keeps how each ended.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/cuda/daemon.h"

namespace tutti::engine::cuda {

class Watch {
 public:
  Watch();
  // All operations have ended.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // The daemon outlives the operation.
  void add(Daemon& daemon, const Daemon::Ticket& ticket);
  // Waits until all have ended. How the first one ended that did not go well.
  std::optional<Completion> wait_for_all();

 private:
  struct Entry {
    Daemon* daemon;
    Daemon::Ticket ticket;
  };
  void run();
  void look();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Entry> entries_;
  std::optional<Completion> first_failure_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace tutti::engine::cuda
