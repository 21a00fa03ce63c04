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
  uint64_t begin = machine.now_ns();
  uint64_t last_moved = begin;
  uint64_t last_wide = begin;
  uint64_t last_ended = begin;
  bool had_workers = false;
  bool moved = false;
  // Liveness: it leaves after a bounded time, or when no stream waits for it any more.
  for (uint32_t i = 1;; ++i) {
    const bool moves = leader.round();
    moved = moved || moves;
    if (!moves) machine.pause();
    if (i % kRoundsPerLook != 0) continue;
    const uint64_t now = machine.now_ns();
    if (moved) last_moved = now;
    moved = false;
    if (leader.has_wide()) last_wide = now;
    if (now - last_wide > state.presence.workers_linger_ns) crew.dismiss();
    leader.watch_crew(now);
    // The time that workers take to come is not theirs.
    const bool has_workers = crew.is_here();
    if (has_workers && !had_workers) begin = now;
    had_workers = has_workers;
    const uint64_t patience = crew.is_called() ? state.presence.patience_ns : 0;
    const bool has_stayed =
        now - begin > state.presence.stay_ns + patience && !leader.has_streamed();
    const bool has_lingered = now - last_moved > state.presence.linger_ns && leader.is_idle();
    bool leaves = load_relaxed(&state.host->leave) == launch;
    if (!leaves && (has_stayed || has_lingered)) {
      announce_to_host(&state.host->leaving, launch);
      leaves = !is_expected(state) && !machine.has_more();
      if (!leaves) store_relaxed(&state.host->leaving, 0);
      last_moved = now;
    }
    if (leaves || now - last_ended > kBetweenEndsNs) {
      leader.end_late(now);
      last_ended = now;
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
