#include "tools/launch/terminal_input.h"

#include <unistd.h>

#include <cerrno>

namespace tutti::tools::launch {

void TerminalInput::open(Descriptor to_rank) {
  set_nonblocking(to_rank);
  to_rank_ = std::move(to_rank);
}

void TerminalInput::want(PollSet& set) {
  input_entry_ = rank_entry_ = PollSet::kNone;
  if (!to_rank_.is_open()) return;
  // The watch on the pipe, also without anything to write, tells when rank 0 is gone.
  rank_entry_ = set.add(to_rank_.get(), pending_.empty() ? short{0} : short{POLLOUT});
  // `fg` is seen at once: it comes with SIGCONT, which begins a new round.
  const bool in_foreground = tcgetpgrp(STDIN_FILENO) == getpgrp();
  if (pending_.empty() && in_foreground) input_entry_ = set.add(STDIN_FILENO, POLLIN);
}

void TerminalInput::serve(const PollSet& set) {
  if (set.is_ready(input_entry_)) read_terminal();
  if (set.is_ready(rank_entry_) && pending_.empty()) to_rank_.close();
  if (!pending_.empty()) write_to_rank();
}

void TerminalInput::read_terminal() {
  char buffer[4096];  // a terminal gives no longer line
  const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
  if (got > 0) pending_.assign(buffer, static_cast<size_t>(got));
  if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) to_rank_.close();
}

void TerminalInput::write_to_rank() {
  const ssize_t written = write(to_rank_.get(), pending_.data(), pending_.size());
  if (written >= 0) {
    pending_.erase(0, static_cast<size_t>(written));
  } else if (errno != EAGAIN && errno != EINTR) {
    pending_.clear();
    to_rank_.close();
  }
}

}  // namespace tutti::tools::launch
