#include "tools/launch/guard.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <set>

#include "tools/launch/job_directory.h"

namespace tutti::tools::launch {
namespace {

// What goes through the pipe, one write each: a group to care for, or with a minus one to forget.
// Even 4096 ranks' worth of these fit into a pipe, so that a write never blocks.
using Record = pid_t;

// The guard must keep nothing open that somebody else waits to see closed.
void let_go_of_everything_but(int kept) {
  const int null = open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, stream);
  if (kept > STDERR_FILENO + 1) close_range(STDERR_FILENO + 1, kept - 1, 0);
  close_range(kept + 1, ~0u, 0);
  [[maybe_unused]] const int in_root = chdir("/");
  setsid();
  prctl(PR_SET_NAME, "tutti-guard");
}

std::set<pid_t> groups_at_death(int from_launcher) {
  std::set<pid_t> groups;
  Record record = 0;
  ssize_t got = 0;
  // Liveness: the launcher's end of the pipe closes when it dies; it kills us if it ends well.
  while ((got = read(from_launcher, &record, sizeof record)) != 0) {
    if (got != static_cast<ssize_t>(sizeof record)) continue;
    if (record > 0) groups.insert(record);
    if (record < 0) groups.erase(-record);
  }
  return groups;
}

[[noreturn]] void stand_guard(int from_launcher, const std::string& job_dir) {
  let_go_of_everything_but(from_launcher);
  const std::set<pid_t> groups = groups_at_death(from_launcher);
  for (const pid_t group : groups) kill(-group, SIGKILL);
  // Someone who is being killed may still add a file, so a few tries.
  constexpr int kTries = 50;
  constexpr timespec kPause{0, 20'000'000};
  for (int i = 0; i < kTries && !remove_directory(job_dir); ++i) {
    // Liveness: bounded by kTries.
    nanosleep(&kPause, nullptr);
  }
  _exit(0);
}

}  // namespace

Result<std::unique_ptr<Guard>> Guard::start(const std::string& job_dir) {
  Result<Pipe> pipe = make_pipe();
  if (!pipe) return pipe.error();
  const pid_t pid = fork();
  if (pid < 0) return system_error("start the guard process");
  if (pid == 0) {
    pipe->write_end.close();
    stand_guard(pipe->read_end.get(), job_dir);
  }
  return std::unique_ptr<Guard>(new Guard(pid, std::move(pipe->write_end)));
}

Guard::~Guard() {
  kill(pid_, SIGKILL);
  // Liveness: SIGKILL cannot be refused.
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void Guard::forget(pid_t group) const {
  const Record record = -group;
  [[maybe_unused]] const ssize_t written = write(to_guard_.get(), &record, sizeof record);
}

void register_with_guard(int guard_fd) noexcept {
  const Record record = getpid();
  [[maybe_unused]] const ssize_t written = write(guard_fd, &record, sizeof record);
}

}  // namespace tutti::tools::launch
