#include "tools/launch/rank_process.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace tutti::tools::launch {
namespace {

constexpr int kNeverRan = 127;

// Between fork and exec: system calls only, nothing that allocates or locks.
[[noreturn]] void become_program(const StartPlan& plan, pid_t launcher) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) _exit(kNeverRan);  // it died before the line above
  register_with_guard(plan.guard->fd());
  for (int stream = 0; stream < 3; ++stream) {
    if (plan.streams[stream] != stream) dup2(plan.streams[stream], stream);
  }
  if (plan.core) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(*plan.core, &cores);
    sched_setaffinity(0, sizeof cores, &cores);
  }
  setrlimit(RLIMIT_NOFILE, &plan.open_files);
  plan.signals->restore();
  execve(plan.path, plan.arguments, plan.environment);
  const StartFailure failure{plan.rank, errno};
  [[maybe_unused]] const ssize_t written = write(plan.report_fd, &failure, sizeof failure);
  _exit(kNeverRan);
}

}  // namespace

Result<RankProcess> RankProcess::start(const StartPlan& plan, Time now) {
  const pid_t launcher = getpid();
  const pid_t pid = fork();
  if (pid == 0) become_program(plan, launcher);
  if (pid < 0) {
    Error error = system_error(fmt::format("start rank {}", plan.rank));
    if (errno == EAGAIN) error.message += "; the limit of processes is ulimit -u";
    return error;
  }
  setpgid(pid, pid);  // whoever of the two comes first: a signal may follow at once
  return RankProcess(pid, plan.guard, now);
}

RankProcess::RankProcess(RankProcess&& other) noexcept
    : pid_(other.pid_),
      guard_(other.guard_),
      started_(other.started_),
      ended_(other.ended_),
      outcome_(other.outcome_),
      is_buried_(std::exchange(other.is_buried_, true)) {}

std::optional<Outcome> RankProcess::look(Time now) {
  if (!is_running()) return std::nullopt;
  siginfo_t info{};
  // Liveness: does not wait (WNOHANG).
  const int looked = waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  if (looked != 0 || info.si_pid == 0) return std::nullopt;
  const bool exited = info.si_code == CLD_EXITED;
  outcome_ =
      Outcome{exited ? info.si_status : 0, exited ? 0 : info.si_status, info.si_code == CLD_DUMPED};
  ended_ = now;
  return outcome_;
}

void RankProcess::signal(int signal) const {
  if (!is_buried_) kill(-pid_, signal);
}

void RankProcess::bury() {
  if (is_buried_) return;
  is_buried_ = true;
  kill(-pid_, SIGKILL);
  guard_->forget(pid_);
  // Liveness: it has ended, or SIGKILL ends it.
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

}  // namespace tutti::tools::launch
