// A job under way: the loop that waits for signals, output, ends of ranks and deadlines, and what
// is done about each. For job.cc (the loop), job_signals.cc and job_ranks.cc.
#pragma once

#include <csignal>
#include <memory>
#include <optional>

#include "tools/launch/crew.h"
#include "tools/launch/ending.h"
#include "tools/launch/job.h"
#include "tools/launch/job_clock.h"
#include "tools/launch/outcome.h"
#include "tools/launch/relay.h"
#include "tools/launch/terminal_input.h"

namespace tutti::tools::launch {

class RunningJob {
 public:
  RunningJob(const JobOptions& options, std::unique_ptr<Crew> crew)
      : options_(options),
        relay_(options.num_ranks, options.out_prefix, options.err_prefix),
        ending_(options.grace),
        crew_(std::move(crew)) {}

  [[nodiscard]] Status start();
  [[nodiscard]] int run();

 private:
  void round();
  [[nodiscard]] std::optional<Time> deadline() const;
  void note_lost_output();
  void take_signals();
  void take_signal(const signalfd_siginfo& info);
  void pass_on(int signal);
  void stop();
  void note_stopped_rank(const signalfd_siginfo& info);
  void take_start_failures();
  void look_at_ranks();
  [[nodiscard]] Verdict::Cause cause_of(const Outcome& outcome) const;
  void rank_ended(uint32_t rank, const Outcome& outcome);
  void bury_ranks();
  void end_on_timeout();
  void act(EndingAction action);

  const JobOptions& options_;
  JobClock clock_;
  Relay relay_;
  TerminalInput input_;
  Ending ending_;
  Verdict verdict_;
  std::unique_ptr<Crew> crew_;
  std::optional<Time> timeout_;
  bool start_failed_ = false;
  bool output_lost_ = false;
  uint32_t num_interrupts_ = 0;
  sigset_t passed_on_{};  // signals that the ranks got from the user through us
};

}  // namespace tutti::tools::launch
