// A launch of the first block of a daemon: rounds of its leader, and when it leaves.
#pragma once

#include "engine/cuda/leader.h"

namespace tutti::engine::cuda {

// Whether a host is about to submit something. If not, what it has submitted is there.
[[nodiscard]] TUTTI_BOTH inline bool is_expected(const DaemonState& state) {
  return load_acquire_host(&state.host->num_expected) != 0;
}

// Block 0. Leaves when there is nothing to do, when it has stayed long enough, or on request.
template <class Machine>
TUTTI_BOTH void run_leader(DaemonState& state, uint32_t launch, Machine& machine) {
  constexpr uint32_t kRoundsPerLook = 64;  // at the clock and at the host's words
  constexpr uint64_t kBetweenEndsNs = 500'000;
  Leader<Machine> leader(state, machine);
  Crew<Machine> crew = leader.crew();
  crew.resume();
  LeaderTimes& times = machine.times();
  times.begin = machine.now_ns();
  times.moved = times.wide = times.ended = times.begin;
  times.num_rounds = times.had_workers = times.has_moved = 0;
  // Liveness: it leaves after a bounded time, or when no stream waits for it any more.
  for (;;) {
    if (leader.round()) {
      times.has_moved = 1;
    } else {
      machine.pause();
    }
    if (++times.num_rounds % kRoundsPerLook != 0) continue;
    const uint64_t now = machine.now_ns();
    if (times.has_moved != 0) times.moved = now;
    times.has_moved = 0;
    if (leader.has_wide()) times.wide = now;
    if (now - times.wide > state.presence.workers_linger_ns) crew.dismiss();
    leader.watch_crew(now);
    // The time that workers take to come is not theirs.
    const bool has_workers = crew.is_here();
    if (has_workers && times.had_workers == 0) times.begin = now;
    times.had_workers = has_workers ? 1 : 0;
    const uint64_t patience = crew.is_called() ? state.presence.patience_ns : 0;
    const bool has_stayed =
        now - times.begin > state.presence.stay_ns + patience && !leader.has_streamed();
    const bool has_lingered = now - times.moved > state.presence.linger_ns && leader.is_idle();
    bool leaves = load_relaxed(&state.host->leave) == launch;
    if (!leaves && (has_stayed || has_lingered)) {
      announce_to_host(&state.host->leaving, launch);
      leaves = !is_expected(state) && !machine.has_more();
      if (!leaves) store_relaxed(&state.host->leaving, 0);
      times.moved = now;
    }
    if (leaves || now - times.ended > kBetweenEndsNs) {
      leader.end_late(now);
      times.ended = now;
    }
    if (leaves) break;
  }
  crew.dismiss();
  leader.put_down();
  // What was triggered the host knows nothing of.
  if (leader.has_streamed()) store_relaxed(&state.host->triggered, 1);
  store_relaxed(&state.host->num_taken, machine.leader().num_submitted);
  machine.keep_leader();
  // Last: the host may launch again, which begins when all blocks have ended.
  store_release_host(&state.host->left, launch);
}

}  // namespace tutti::engine::cuda
