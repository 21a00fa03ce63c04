// The workers of a daemon, as its leader sees them: called when there is work for them, dismissed
// when there is none, or when they cannot do it.
//
// No deadlock among blocks that have no room beside each other: what is wide is given to workers
// only when all of them are here; those that are not all here in time, or stand still together,
// leave, so that others have their room, and the leader does their work. Leaders must all have
// room.
#pragma once

#include "engine/cuda/block.h"

namespace tutti::engine::cuda {

template <class Machine>
class Crew {
 public:
  TUTTI_BOTH Crew(DaemonState& state, Machine& machine)
      : state_(state), own_(machine.leader()), machine_(machine) {}

  // Wide operations are under way.
  [[nodiscard]] TUTTI_BOTH bool has_work() const {
    return own_.waiting != nullptr || own_.num_started != load_relaxed(&state_.num_over);
  }

  // At the beginning of a launch: workers may have left in the middle of something.
  TUTTI_BOTH void resume() {
    own_.has_workers = 0;
    if (has_work()) call();
  }
  TUTTI_BOTH void call() {
    // What the last ones left is taken over first.
    if (is_called() || own_.takes_over != 0) return;
    ++own_.workers;
    // Pairs with the acquire in Daemon::serve: they find what the leader has left them.
    store_release_host(&state_.host->workers, own_.workers);
  }
  // They were called, and not told to leave.
  [[nodiscard]] TUTTI_BOTH bool is_called() const {
    return own_.workers != load_relaxed(&state_.workers_leaving);
  }
  // Whether all of them are here.
  TUTTI_BOTH bool is_here() {
    if (own_.has_workers == 0 && is_called() &&
        load_relaxed(&state_.workers_here) == own_.workers &&
        load_relaxed(&state_.num_present) + 1 == state_.num_blocks) {
      own_.has_workers = 1;
      watch_from(machine_.now_ns());
    }
    return own_.has_workers != 0;
  }
  TUTTI_BOTH void dismiss() {
    if (!is_called()) return;
    own_.has_workers = 0;
    // Also if they have not come yet: they leave as soon as they come.
    store_relaxed(&state_.workers_leaving, own_.workers);
  }

  // Now and then. `leaders`: the block that does what they leave.
  TUTTI_BOTH void watch(uint64_t now_ns, Block<Machine>& leaders) {
    take_over(leaders);
    if (!has_work()) return watch_from(now_ns);
    const Presence& presence = state_.presence;
    const uint64_t patience = is_here() ? presence.standstill_ns : presence.patience_ns;
    if (now_ns - own_.watched_since_ns < patience) return;
    const uint32_t num_moves = count_moves();
    const bool stands_still = num_moves == own_.num_known_moves;
    watch_from(now_ns);
    own_.num_known_moves = num_moves;
    if (!stands_still) return;
    dismiss();
    own_.takes_over = 1;
  }

 private:
  TUTTI_BOTH void watch_from(uint64_t now_ns) { own_.watched_since_ns = now_ns; }

  // Of all that there may be: several loads at a time.
  [[nodiscard]] TUTTI_BOTH uint32_t count_moves() const {
    uint32_t sum = 0;
    for (uint32_t i = 1; i < kMostBlocks; ++i) sum += load_relaxed(&state_.num_moves[i]);
    return sum;
  }

  // All that is the workers', once none of them is here. Who comes later sees that it is dismissed.
  TUTTI_BOTH void take_over(Block<Machine>& leaders) {
    if (own_.takes_over == 0 || is_called() || fetch_add(&state_.num_present, 0) != 0) return;
    own_.takes_over = 0;
    TUTTI_NO_UNROLL
    for (uint32_t i = 1; i < state_.num_blocks; ++i) {
      leaders.adopt(i);
      leaders.take_in_for(i);
    }
    if (own_.waiting != nullptr) call();
  }

  DaemonState& state_;
  LeaderState& own_;
  Machine& machine_;
};

}  // namespace tutti::engine::cuda
