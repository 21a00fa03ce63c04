// What a running job does about the signals that the launcher gets.
#include <fmt/format.h>

#include "tools/launch/running_job.h"

namespace tutti::tools::launch {

void RunningJob::take_signals() {
  while (const std::optional<signalfd_siginfo> info = crew_->signals().next()) take_signal(*info);
}

void RunningJob::take_signal(const signalfd_siginfo& info) {
  const auto signal = static_cast<int>(info.ssi_signo);
  switch (signal) {
    case SIGCHLD: note_stopped_rank(info); return look_at_ranks();
    case SIGTSTP: return stop();
    case SIGCONT: return crew_->signal(SIGCONT);
    default: return pass_on(signal);
  }
}

void RunningJob::pass_on(int signal) {
  const bool asks_to_end = signal != SIGUSR1 && signal != SIGUSR2;
  // With all ranks gone, what is left is output that nobody reads.
  if (crew_->running().empty() && asks_to_end) {
    verdict_.end_with(128 + signal);
    return relay_.abandon();
  }
  if (signal == SIGINT && ++num_interrupts_ > 1) {
    verdict_.end_with(128 + SIGINT);
    return ending_.kill(clock_.now());
  }
  const std::vector<uint32_t> running = crew_->running();
  if (signal == SIGINT && !running.empty()) {
    relay_.say(fmt::format("SIGINT passed on to {}; once more kills", describe_ranks(running)));
  }
  sigaddset(&passed_on_, signal);
  crew_->signal(signal);
  if (asks_to_end) crew_->signal(SIGCONT);  // a stopped one would not notice
}

void RunningJob::stop() {
  crew_->signal(SIGTSTP);
  const Time before = clock_.now();
  crew_->signals().stop_here();
  clock_.stood_still_since(before);
  crew_->signal(SIGCONT);
}

// Such a rank waits for ever without a word; to say so is all that can be done.
void RunningJob::note_stopped_rank(const signalfd_siginfo& info) {
  const bool by_terminal = info.ssi_status == SIGTTIN || info.ssi_status == SIGTTOU;
  if (info.ssi_code != CLD_STOPPED || !by_terminal) return;
  for (uint32_t rank = 0; rank < crew_->ranks().size(); ++rank) {
    const pid_t pid = crew_->ranks()[rank].pid();
    if (pid != static_cast<pid_t>(info.ssi_pid)) continue;
    relay_.say(
        fmt::format("rank {} (pid {}) was stopped by {}: ranks cannot use the terminal itself",
                    rank, pid, signal_name(info.ssi_status)));
  }
}

}  // namespace tutti::tools::launch
