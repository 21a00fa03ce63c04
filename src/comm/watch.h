// Knows when a process of the job dies, within milliseconds and without asking anybody: the kernel
// tells, through a descriptor of each process. One thread, asleep until then; it also answers those
// who ask how the job is.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/ids.h"
#include "comm/diagnosis/status_socket.h"
#include "transport/shm/shared_memory.h"
#include "tutti/result.h"

namespace tutti::comm {

class Watch {
 public:
  struct Process {
    Rank rank;
    int pid;
  };
  // `on_death` is called once for each that dies, from the watching thread. `server` may be empty.
  static Result<std::unique_ptr<Watch>> start(const std::vector<Process>& processes,
                                              std::function<void(Process)> on_death,
                                              std::optional<StatusServer> server);
  // Ends the thread.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  struct Watched {
    Process process;
    transport::Descriptor fd;
  };

  Watch() = default;
  void run();

  std::vector<Watched> watched_;
  std::function<void(Process)> on_death_;
  std::optional<StatusServer> server_;
  transport::Descriptor stop_;  // readable when the thread is to end
  std::thread thread_;
};

}  // namespace tutti::comm
