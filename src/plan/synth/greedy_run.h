// What filling links in time needs, whichever chunks are chosen: the clock, the room on links, hops
// that are to be tried, and telling how far it is. Spreading and delivering differ in what they do
// with a chunk that arrives and in which one a hop takes next.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "plan/synth/greedy_bundles.h"
#include "plan/synth/greedy_clock.h"
#include "plan/synth/greedy_random.h"
#include "plan/synth/greedy_transfers.h"
#include "tutti/result.h"

namespace tutti::plan::synth {

class GreedyRun {
 public:
  GreedyRun(const Network& network, const GreedyWork& work)
      : network_(network),
        work_(work),
        room_(network),
        is_idle_(network.hops.size(), true),
        random_(work.seed) {
    first_turn_ = static_cast<uint32_t>(random_.below(network.num_turns));
  }

  [[nodiscard]] LinkRoom& room() { return room_; }
  [[nodiscard]] GreedyRandom& random() { return random_; }
  [[nodiscard]] int64_t now_ps() const { return now_ps_; }
  [[nodiscard]] uint64_t num_started() const { return num_started_; }
  [[nodiscard]] bool is_idle(uint32_t hop) const { return is_idle_[hop]; }

  // How many transfers there will be, for progress.
  void expect(uint64_t num_transfers) { total_ = num_transfers; }

  // The hop has nothing to carry until it is woken.
  void rest(uint32_t hop) { is_idle_[hop] = true; }
  // The hop is tried at this moment, unless it waits for a link already.
  void wake(uint32_t hop) {
    if (!is_idle_[hop]) return;
    is_idle_[hop] = false;
    ready_.push_back(hop);
  }

  // Begins a transfer at this rate, now.
  void begin(uint32_t hop_index, Load load, int64_t rate) {
    const Hop& hop = network_.hops[hop_index];
    const int64_t sent_ps = now_ps_ + transfer_ps(work_.chunk_bytes * load.num_chunks, rate);
    room_.take(hop, rate);
    timeline_.add(sent_ps, {hop_index, load.chunk, load.num_chunks, rate});
    timeline_.add(sent_ps + hop.latency_ps, {hop_index, load.chunk, load.num_chunks, 0});
    num_started_ += load.num_chunks;
    if (num_started_ < next_report_ || !work_.progress) return;
    next_report_ = num_started_ + kReportEvery;
    const double done = static_cast<double>(num_started_) / static_cast<double>(total_);
    if (!work_.progress(std::min(done, 1.0))) is_stopped_ = true;
  }

  // Until nothing happens any more. `arrive(hop, event)` is called for what has come, then, once a
  // moment, `collect(ready)`, which adds hops that waited for links, and `start(hop)` for each that
  // is ready, turn by turn. Returns when the last chunk arrives.
  template <class Arrive, class Collect, class Start>
  Result<int64_t> run(Arrive arrive, Collect collect, Start start) {
    start_ready(collect, start);
    int64_t last_ps = 0;
    std::vector<GreedyEvent> events;
    while (!timeline_.empty()) {
      now_ps_ = timeline_.take_first(events);
      for (const GreedyEvent& event : events) {
        const Hop& hop = network_.hops[event.hop];
        if (event.kb_per_s > 0) {
          room_.give_back(hop, event.kb_per_s);
        } else {
          arrive(hop, event);
          last_ps = now_ps_;
        }
      }
      start_ready(collect, start);
      if (is_stopped_) return stopped();
    }
    return last_ps;
  }

  [[nodiscard]] static Error stopped() { return {ErrorCode::kAborted, "synthesis was stopped"}; }

 private:
  static constexpr uint64_t kReportEvery = 1u << 16;

  template <class Collect, class Start>
  void start_ready(Collect& collect, Start& start) {
    const uint64_t before = num_started_;
    collect(ready_);
    sort_by_turn(network_, first_turn_, ready_);
    for (const uint32_t hop : ready_) start(hop);
    ready_.clear();
    if (num_started_ > before) {
      first_turn_ = first_turn_ + 1 < network_.num_turns ? first_turn_ + 1 : 0;
    }
  }

  const Network& network_;
  const GreedyWork& work_;
  Timeline timeline_;
  LinkRoom room_;
  int64_t now_ps_ = 0;
  std::vector<bool> is_idle_;    // by hop: has nothing to carry until something comes
  std::vector<uint32_t> ready_;  // hops to try at this moment
  GreedyRandom random_;
  uint32_t first_turn_ = 0;
  uint64_t num_started_ = 0;  // chunks
  uint64_t next_report_ = kReportEvery;
  uint64_t total_ = 1;
  bool is_stopped_ = false;
};

}  // namespace tutti::plan::synth
