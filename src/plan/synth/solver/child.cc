#include "plan/synth/solver/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/try.h"

namespace tutti::plan::solver {
namespace {

constexpr int kPollMs = 50;  // how soon a stop is seen

using ChildClock = std::chrono::steady_clock;

double seconds_since(ChildClock::time_point start) {
  return std::chrono::duration<double>(ChildClock::now() - start).count();
}

Error child_error(const std::string& what, int reason) {
  return {ErrorCode::kIo, fmt::format("cannot {}: {}", what, std::strerror(reason))};
}

// The end that nobody has closed yet.
struct PipeEnd {
  int fd = -1;
  PipeEnd() = default;
  PipeEnd(const PipeEnd&) = delete;
  PipeEnd& operator=(const PipeEnd&) = delete;
  ~PipeEnd() { close(); }
  void close() {
    if (fd >= 0) ::close(std::exchange(fd, -1));
  }
};

// What the child does before it becomes another program: only what is allowed after a fork of a
// process with several threads. It dies with its parent, whoever kills that; its output is our
// pipe, its input nothing, its signals are as usual. Where it fails it says why and ends.
[[noreturn]] void become(char* const* arguments, int output, int failures, pid_t parent) {
  constexpr int kCannotRun = 127;
  const auto give_up = [&] {
    const int reason = errno;
    static_cast<void>(!write(failures, &reason, sizeof(reason)));
    _exit(kCannotRun);
  };
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up();
  if (getppid() != parent) _exit(kCannotRun);  // it had died before
  if (setpgid(0, 0) != 0) give_up();
  sigset_t signals;
  sigemptyset(&signals);
  sigprocmask(SIG_SETMASK, &signals, nullptr);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_DFL);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0) give_up();
  if (dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0) give_up();
  execv(arguments[0], arguments);
  give_up();
  __builtin_unreachable();
}

Result<pid_t> start_child(const std::vector<std::string>& arguments, int output) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));  // execv changes nothing
  }
  pointers.push_back(nullptr);
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return child_error("make a pipe", errno);
  PipeEnd failures;
  PipeEnd theirs;
  failures.fd = ends[0];
  theirs.fd = ends[1];
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return child_error(fmt::format("run {}", arguments[0]), errno);
  if (pid == 0) become(pointers.data(), output, theirs.fd, parent);
  theirs.close();
  int reason = 0;
  ssize_t count = 0;
  do {
    // Liveness: the child closes its end when it becomes the other program, or dies.
    count = read(failures.fd, &reason, sizeof(reason));
  } while (count < 0 && errno == EINTR);
  if (count <= 0) return pid;
  // Liveness: it ends as soon as it has written why.
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return child_error(fmt::format("run {}", arguments[0]), reason);
}

// A child that runs. Whoever leaves without reaping it kills it.
class RunningChild {
 public:
  RunningChild(pid_t pid, const ChildOptions& options) : pid_(pid), options_(options) {}
  RunningChild(const RunningChild&) = delete;
  RunningChild& operator=(const RunningChild&) = delete;
  ~RunningChild() {
    if (pid_ < 0) return;
    kill(-pid_, SIGKILL);
    static_cast<void>(reap());
  }

  // Reads until the child closes its output, which it does at its end.
  Status follow(int output) {
    std::array<char, 4096> buffer;
    while (true) {
      press();
      pollfd wanted = {output, POLLIN, 0};
      // Liveness: comes back after kPollMs; press() kills the child at the latest when its time and
      // grace are over, which closes the pipe.
      const int ready = poll(&wanted, 1, kPollMs);
      if (ready < 0 && errno != EINTR) return child_error("wait for the solver", errno);
      if (ready <= 0) continue;
      const ssize_t count = read(output, buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      hand_on({buffer.data(), static_cast<size_t>(count)});
    }
    if (!partial_.empty() && options_.line) options_.line(partial_);
    return {};
  }

  ChildEnd reap() {
    int status = 0;
    // Liveness: the child has closed its output and ends, or was killed.
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    end_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    end_.was_killed = WIFSIGNALED(status);
    end_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    end_.seconds = seconds_since(start_);
    return end_;
  }

 private:
  // Interrupts the child when its time is over or it shall stop; kills it when that did not help or
  // nobody wants its answer.
  void press() {
    const double now = seconds_since(start_);
    if (options_.abandon && options_.abandon()) {
      end_.was_abandoned = true;
      kill(-pid_, SIGKILL);
    } else if (!end_.was_interrupted) {
      if (now < options_.seconds && !(options_.stop && options_.stop())) return;
      end_.was_interrupted = true;
      kill_at_ = now + options_.grace_seconds;
      kill(-pid_, SIGINT);
    } else if (now >= kill_at_) {
      kill(-pid_, SIGKILL);
    }
  }

  void hand_on(std::string_view text) {
    partial_ += text;
    size_t begin = 0;
    for (size_t end = partial_.find('\n'); end != std::string::npos;
         end = partial_.find('\n', begin)) {
      if (options_.line) options_.line(std::string_view(partial_).substr(begin, end - begin));
      begin = end + 1;
    }
    partial_.erase(0, begin);
  }

  pid_t pid_;
  const ChildOptions& options_;
  ChildClock::time_point start_ = ChildClock::now();
  double kill_at_ = 0;
  ChildEnd end_;
  std::string partial_;  // a line that has not ended
};

}  // namespace

Result<ChildEnd> run_child(const std::vector<std::string>& arguments, const ChildOptions& options) {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return child_error("make a pipe", errno);
  PipeEnd ours;
  PipeEnd theirs;
  ours.fd = ends[0];
  theirs.fd = ends[1];
  TUTTI_ASSIGN(const pid_t pid, start_child(arguments, theirs.fd));
  RunningChild child(pid, options);
  theirs.close();
  TUTTI_TRY(child.follow(ours.fd));
  return child.reap();
}

Result<PrivateFolder> PrivateFolder::make() {
  std::error_code error;
  const std::filesystem::path base = std::filesystem::temp_directory_path(error);
  if (error) return child_error("find a folder for temporary files", error.value());
  std::string path = (base / "tutti-solver-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) {
    return child_error(fmt::format("make a folder in {}", base.string()), errno);
  }
  return PrivateFolder(path);
}

PrivateFolder::PrivateFolder(PrivateFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace tutti::plan::solver
