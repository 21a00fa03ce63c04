// The launcher's signals as messages: blocked, and read from a descriptor like everything else it
// waits for. Signals that were ignored when it started (nohup) stay ignored, for the ranks too.
//
// One at a time, in a process without threads. The destructor puts everything back.
#pragma once

#include <sys/signalfd.h>

#include <csignal>
#include <memory>
#include <optional>

#include "tools/launch/descriptor.h"
#include "tutti/result.h"

namespace tutti::tools::launch {

class Signals {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Signals>> take_over();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  [[nodiscard]] int fd() const { return inbox_.get(); }
  [[nodiscard]] std::optional<signalfd_siginfo> next();
  // Stops this process as SIGTSTP would have, and returns when it is continued.
  void stop_here();
  // As the launcher found them. Async-signal-safe: the child calls it before exec.
  void restore() const noexcept;

 private:
  Signals() = default;

  sigset_t mask_before_{};
  struct sigaction pipe_before_ {};
  struct sigaction child_before_ {};
  Descriptor inbox_;
};

}  // namespace tutti::tools::launch
