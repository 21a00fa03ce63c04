// What a running job does about ranks that cannot start, end, or do not end.
#include <fmt/format.h>

#include "tools/launch/program_path.h"
#include "tools/launch/running_job.h"

namespace tutti::tools::launch {

void RunningJob::take_start_failures() {
  while (const std::optional<StartFailure> failure = crew_->start_failure()) {
    if (start_failed_) continue;  // the others will say the same
    start_failed_ = true;
    const Error error = cannot_run(options_.path, failure->error);
    relay_.say(error.message);
    verdict_.end_with(exit_code_of(error));
    ending_.kill(clock_.now());
    act(ending_.due(clock_.now()));
  }
}

void RunningJob::look_at_ranks() {
  std::vector<RankProcess>& ranks = crew_->ranks();
  for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
    const std::optional<Outcome> outcome = ranks[rank].look(clock_.now());
    if (outcome) rank_ended(rank, *outcome);
  }
}

Verdict::Cause RunningJob::cause_of(const Outcome& outcome) const {
  if (ending_.killed()) return Verdict::Cause::kOurSigkill;
  if (ending_.terminated()) return Verdict::Cause::kOurSigterm;
  if (outcome.signal == SIGPIPE && relay_.failure()) return Verdict::Cause::kLostReader;
  const bool from_user = outcome.signal != 0 && sigismember(&passed_on_, outcome.signal) == 1;
  return from_user ? Verdict::Cause::kPassedOnSignal : Verdict::Cause::kItself;
}

void RunningJob::rank_ended(uint32_t rank, const Outcome& outcome) {
  take_start_failures();  // its report came before its end
  if (start_failed_) return;
  relay_.drain(rank, clock_.now());
  const RankProcess& process = crew_->ranks()[rank];
  const std::chrono::duration<double> lived = process.ended() - process.started();
  const auto line = verdict_.add({rank, process.pid(), outcome, lived.count()}, cause_of(outcome));
  if (line) relay_.say(*line);
  if (!outcome.succeeded() && !options_.keep_going) ending_.begin(clock_.now());
}

// A rank is done when it has ended and so has its output. What it started may hold that open (a
// `tee` that writes the last lines), but not for longer than the grace.
void RunningJob::bury_ranks() {
  const Time now = clock_.now();
  std::vector<RankProcess>& ranks = crew_->ranks();
  for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
    RankProcess& process = ranks[rank];
    if (process.is_running() || process.is_buried()) continue;
    const bool is_over = ending_.killed() || now >= process.ended() + options_.grace;
    if (is_over && relay_.may_take_last(rank)) {
      process.signal(SIGKILL);
      relay_.take_last(rank, now);
    }
    if (relay_.is_silent(rank)) process.bury();
  }
}

void RunningJob::end_on_timeout() {
  const Time now = clock_.now();
  if (!timeout_ || ending_.begun() || now < *timeout_ || crew_->is_buried()) return;
  verdict_.end_with(kTimedOut);
  const std::chrono::duration<double> limit = *options_.timeout;
  relay_.say(fmt::format("the time of {:g} s is up; still running: {}", limit.count(),
                         describe_ranks(crew_->running())));
  ending_.terminate(now);
}

void RunningJob::act(EndingAction action) {
  switch (action) {
    case EndingAction::kNothing: return;
    case EndingAction::kTerminate:
      crew_->signal(SIGTERM);
      return crew_->signal(SIGCONT);  // a stopped one would not notice
    case EndingAction::kKill: return crew_->signal(SIGKILL);
  }
}

}  // namespace tutti::tools::launch
