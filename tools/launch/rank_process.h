// One rank: a child process that leads a process group of its own, so that a signal reaches all
// that it started, and that dies with the launcher.
//
// A rank that has ended stays a zombie until it is buried: as long as it does, its group's number
// belongs to nobody else, and a signal to the group cannot hit a stranger.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "tools/launch/ending.h"
#include "tools/launch/guard.h"
#include "tools/launch/outcome.h"
#include "tools/launch/signals.h"
#include "tutti/result.h"

namespace tutti::tools::launch {

// All that the child needs between fork and exec, made before: there it may only call the system.
struct StartPlan {
  uint32_t rank = 0;
  const char* path = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  int streams[3] = {-1, -1, -1};  // become its standard input, output and error
  int report_fd = -1;             // takes a StartFailure if it cannot become the program
  std::optional<uint32_t> core;
  const Guard* guard = nullptr;
  const Signals* signals = nullptr;
  rlimit open_files{};  // as the launcher found it
};

struct StartFailure {
  uint32_t rank;
  int error;  // errno of exec
};

class RankProcess {
 public:
  [[nodiscard]] static Result<RankProcess> start(const StartPlan& plan, Time now);
  RankProcess(RankProcess&& other) noexcept;
  RankProcess& operator=(RankProcess&&) = delete;
  // Kills what is still there.
  ~RankProcess() { bury(); }

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] Time started() const { return started_; }
  [[nodiscard]] Time ended() const { return ended_; }
  [[nodiscard]] bool is_running() const { return !is_buried_ && !outcome_; }
  [[nodiscard]] bool is_buried() const { return is_buried_; }

  // How it ended, if it has since the last look.
  [[nodiscard]] std::optional<Outcome> look(Time now);
  // To the whole group.
  void signal(int signal) const;
  // Kills the rest of the group and lets go of the process.
  void bury();

 private:
  RankProcess(pid_t pid, const Guard* guard, Time now) : pid_(pid), guard_(guard), started_(now) {}

  pid_t pid_;
  const Guard* guard_;
  Time started_;
  Time ended_;
  std::optional<Outcome> outcome_;
  bool is_buried_ = false;
};

}  // namespace tutti::tools::launch
