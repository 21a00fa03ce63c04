#include "tools/launch/job.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "base/try.h"
#include "tools/launch/poll_set.h"
#include "tools/launch/running_job.h"

namespace tutti::tools::launch {

Status RunningJob::start() {
  sigemptyset(&passed_on_);
  if (options_.timeout) timeout_ = clock_.now() + *options_.timeout;
  for (uint32_t rank = 0; rank < options_.num_ranks && !start_failed_; ++rank) {
    TUTTI_TRY(crew_->start_next(relay_, input_, clock_.now()));
    take_start_failures();
  }
  crew_->close_start();
  return {};
}

int RunningJob::run() {
  while (!crew_->is_buried()) round();
  for (const std::string& line : verdict_.summary()) relay_.say(line);
  // Liveness: ends when the reader has read, is gone, or the user sends a signal.
  while (!relay_.is_drained()) round();
  return verdict_.exit_code();
}

// Waits for the next event and deals with all there are. Events are looked at in the order in which
// they explain each other: why a rank could not start, what it said, how it ended.
void RunningJob::round() {
  PollSet set;
  const size_t signals = set.add(crew_->signals().fd(), POLLIN);
  if (crew_->report_fd().is_open()) (void)set.add(crew_->report_fd().get(), POLLIN);
  relay_.want(set);
  input_.want(set);
  // Liveness: a rank that ends sends SIGCHLD. That ranks end is theirs to see to, or --timeout's.
  set.wait(clock_.now(), deadline());
  take_start_failures();
  relay_.serve(set, clock_.now());
  input_.serve(set);
  note_lost_output();
  if (set.is_ready(signals)) take_signals();
  bury_ranks();
  end_on_timeout();
  act(ending_.due(clock_.now()));
}

// `| head` ends like any program whose reader is gone; a full disk is worth a word.
void RunningJob::note_lost_output() {
  const std::optional<int> error = relay_.failure();
  if (!error || output_lost_) return;
  output_lost_ = true;
  verdict_.end_with(*error == EPIPE ? 128 + SIGPIPE : 1);
  if (*error != EPIPE) relay_.say(fmt::format("output is lost: {}", std::strerror(*error)));
}

std::optional<Time> RunningJob::deadline() const {
  std::optional<Time> next = earlier(relay_.deadline(), ending_.deadline());
  if (!ending_.begun()) next = earlier(next, timeout_);
  const std::vector<RankProcess>& ranks = crew_->ranks();
  for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
    const bool lingers = !ranks[rank].is_running() && !ranks[rank].is_buried();
    // Without room there is nothing to do about it; room comes with a write.
    if (lingers && relay_.may_take_last(rank)) {
      next = earlier(next, ranks[rank].ended() + options_.grace);
    }
  }
  return next;
}

Result<int> run_job(const JobOptions& options) {
  TUTTI_ASSIGN(std::unique_ptr<Crew> crew, Crew::prepare(options));
  RunningJob job(options, std::move(crew));
  TUTTI_TRY(job.start());
  return job.run();
}

}  // namespace tutti::tools::launch
