// What is left to do when the launcher is killed outright and can do nothing itself. The guard is a
// process of its own that waits for the launcher's death and then ends what the ranks had started
// and removes the job directory.
//
// Ranks also die with the launcher by PR_SET_PDEATHSIG; their children do not, so the guard knows
// their process groups.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "tools/launch/descriptor.h"
#include "tutti/result.h"

namespace tutti::tools::launch {

class Guard {
 public:
  // Before the first rank starts.
  [[nodiscard]] static Result<std::unique_ptr<Guard>> start(const std::string& job_dir);
  // The launcher has cleaned up by itself: the guard goes without doing anything.
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  // Where a rank, whose group has its pid, puts itself in the guard's care: register_with_guard().
  [[nodiscard]] int fd() const { return to_guard_.get(); }
  // The group is gone. To be said while its number cannot yet be another's.
  void forget(pid_t group) const;

 private:
  Guard(pid_t pid, Descriptor to_guard) : pid_(pid), to_guard_(std::move(to_guard)) {}

  pid_t pid_;
  Descriptor to_guard_;
};

// Async-signal-safe: called by the rank itself between fork and exec, so that the guard knows it
// before it can start anything.
void register_with_guard(int guard_fd) noexcept;

}  // namespace tutti::tools::launch
