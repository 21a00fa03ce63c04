#include "sim/critical_path.h"

#include <algorithm>

namespace tutti::sim {
namespace {

// Walks backward in time. `until_` is where the path has been explained down to; every slice ends
// there and moves it.
class PathWalker {
 public:
  PathWalker(const FinishedRun& run, StepNumber last)
      : run_(run), until_(run.log[last].end_ns), step_(last) {}

  std::vector<Slice> walk() && {
    StepNumber first = step_;
    for (; step_ != kNoStep; go_to_cause()) {
      first = step_;
      own_work();
    }
    // Before that, its rank had not started.
    add(slice(SliceKind::kWait, first), 0);
    std::reverse(slices_.begin(), slices_.end());
    return std::move(slices_);
  }

 private:
  void add(Slice slice, double begin_ns) {
    if (begin_ns >= until_) return;
    slice.begin_ns = begin_ns;
    slice.end_ns = until_;
    until_ = begin_ns;
    slices_.push_back(slice);
  }

  [[nodiscard]] Slice slice(SliceKind kind, StepNumber step, Rank peer = kNoRank) const {
    return {.kind = kind,
            .rank = run_.program.rank_of(step),
            .step = run_.program.ref(step),
            .peer = peer};
  }

  // Latency and transfer of a message that began to move at `begin_ns`, seen from its taker.
  void message(StepNumber taker, double begin_ns, double latency_ns) {
    const Rank from = run_.program.rank_of(run_.program.sender(taker));
    add(slice(SliceKind::kTransfer, taker, from), begin_ns + latency_ns);
    add(slice(SliceKind::kLatency, taker, from), begin_ns);
  }

  [[nodiscard]] double hop_latency(StepNumber taker) const {
    const StepNumber sender = run_.program.sender(taker);
    return run_.machine.route(run_.program.rank_of(sender), run_.program.rank_of(taker)).latency_ns;
  }

  // Under lending, steps that only pass on are part of their taker's transfer.
  [[nodiscard]] double chain_latency(StepNumber taker) const {
    double latency_ns = hop_latency(taker);
    StepNumber step = run_.program.sender(taker);
    while (run_.program.step(step).kind == ir::StepKind::kRecvReduceSend) {
      latency_ns += hop_latency(step);
      step = run_.program.sender(step);
    }
    return latency_ns;
  }

  void own_work() {
    const ir::StepKind kind = run_.program.step(step_).kind;
    const double begin_ns = run_.log[step_].begin_ns;
    const bool pulls = run_.connections == nullptr && ir::receives(kind);
    const double work_ns = pulls ? run_.log[step_].transfer_ns : begin_ns;
    const bool copies = kind == ir::StepKind::kCopy;
    add(slice(copies ? SliceKind::kCopy : SliceKind::kReduce, step_), work_ns);
    if (pulls && until_ > begin_ns) message(step_, begin_ns, chain_latency(step_));
  }

  void go_to_cause() {
    const StepNumber cause = run_.log[step_].cause;
    if (!run_.log[step_].by_partner) {
      const double overhead_ns = run_.machine.step_overhead_ns(run_.program.rank_of(step_));
      if (overhead_ns > 0) add(slice(SliceKind::kOverhead, step_), until_ - overhead_ns);
    } else if (run_.connections != nullptr && run_.program.sender(step_) == cause) {
      messages_before(cause);
      return;
    }
    step_ = cause;
  }

  // Under slots: the message of `sender` has just arrived. It may have waited behind the one before
  // it on its connection; then that one's transfer is what took the time.
  void messages_before(StepNumber sender) {
    while (true) {
      const StepNumber taker = run_.program.taker(sender);
      const double moved_ns = run_.log[sender].transfer_ns;
      message(taker, moved_ns, hop_latency(taker));
      if (run_.log[sender].end_ns >= moved_ns) break;
      sender =
          run_.connections->sender(run_.connections->of(sender), run_.program.sequence(sender) - 1);
    }
    step_ = sender;
  }

  const FinishedRun& run_;
  double until_;
  StepNumber step_;
  std::vector<Slice> slices_;
};

}  // namespace

std::vector<Slice> critical_path(const FinishedRun& run, StepNumber last) {
  return PathWalker(run, last).walk();
}

}  // namespace tutti::sim
