#include "tools/launch/signals.h"

#include <unistd.h>

#include <ctime>

namespace tutti::tools::launch {
namespace {

constexpr int kTaken[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                          SIGUSR2, SIGTSTP, SIGCONT, SIGCHLD};

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

struct sigaction set_handler(int signal, sighandler_t handler) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = handler;
  sigaction(signal, &action, &before);
  return before;
}

}  // namespace

Result<std::unique_ptr<Signals>> Signals::take_over() {
  std::unique_ptr<Signals> signals(new Signals);
  sigprocmask(SIG_SETMASK, nullptr, &signals->mask_before_);
  // A write to a reader that is gone must fail, not end us; a child must stay a zombie till seen.
  signals->pipe_before_ = set_handler(SIGPIPE, SIG_IGN);
  signals->child_before_ = set_handler(SIGCHLD, SIG_DFL);
  sigset_t taken;
  sigemptyset(&taken);
  for (const int signal : kTaken) {
    if (!is_ignored(signal)) sigaddset(&taken, signal);
  }
  sigprocmask(SIG_BLOCK, &taken, nullptr);
  signals->inbox_ = Descriptor(signalfd(-1, &taken, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!signals->inbox_.is_open()) return system_error("listen for signals");
  return signals;
}

Signals::~Signals() {
  while (next()) continue;  // what came too late to be dealt with must not end us now
  restore();
}

void Signals::restore() const noexcept {
  sigaction(SIGPIPE, &pipe_before_, nullptr);
  sigaction(SIGCHLD, &child_before_, nullptr);
  sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

std::optional<signalfd_siginfo> Signals::next() {
  signalfd_siginfo info{};
  const ssize_t got = read(inbox_.get(), &info, sizeof info);
  if (got != static_cast<ssize_t>(sizeof info)) return std::nullopt;
  return info;
}

void Signals::stop_here() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  sigset_t resume;
  sigemptyset(&resume);
  sigaddset(&resume, SIGCONT);
  raise(SIGTSTP);
  // Liveness: the shell or whoever stopped the job continues it; that is the user's to decide.
  sigprocmask(SIG_UNBLOCK, &stop, nullptr);
  sigprocmask(SIG_BLOCK, &stop, nullptr);
  // The SIGCONT that woke us is dealt with by returning.
  constexpr timespec kNoTime{};
  sigtimedwait(&resume, nullptr, &kNoTime);
}

}  // namespace tutti::tools::launch
