// Operations that were prepared by the host and are triggered again and again by whoever can write
// a word: the nodes of a graph, a kernel's thread. A trigger sets the operation's arm word; the
// daemon takes it back, runs the operation, and sets its done word, which whoever waits takes back.
// So the same nodes do for every replay. The i-th trigger on one rank meets the i-th on the others.
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/cuda/context.h"
#include "engine/cuda/daemon_state.h"

namespace tutti::engine::cuda {

inline constexpr uint32_t kMostPrepared = 1024;

struct Prepared {
  Submission submission;  // `operation` is what the numbers of all triggers are made of
  uint32_t done;          // 1: over, and nobody has gone on yet
  uint32_t unused[3];
};
static_assert(sizeof(Prepared) == 160 && std::is_trivially_copyable_v<Prepared>);

// In memory of the device, at the daemon's first preparation.
struct alignas(128) PreparedTable {
  uint32_t arms[kMostPrepared];  // side by side: they are looked at all the time
  Prepared operations[kMostPrepared];
};
static_assert(std::is_trivially_copyable_v<PreparedTable>);

// The number of an operation under way: equal on all ranks, and never 0.
[[nodiscard]] TUTTI_BOTH inline uint64_t number_of_trigger(uint64_t operation, uint32_t trigger) {
  uint64_t x = operation + (uint64_t{trigger} + 1) * 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  x ^= x >> 31;
  return x == 0 ? 1 : x;
}

// By the leader, of what was triggered. Whether it begins: what has failed for good is over at
// once, since its home may still be written to.
[[nodiscard]] TUTTI_BOTH inline bool begin_triggered(LeaderState& own, Submission& submission) {
  Prepared& prepared = *submission.prepared;
  if (submission.is_broken != 0) {
    // Pairs with the acquire of whoever waits.
    store_release_host(&prepared.done, 1);
    return false;
  }
  store_relaxed(&prepared.submission.num_triggers, submission.num_triggers + 1);
  submission.operation = number_of_trigger(submission.operation, submission.num_triggers);
  ++own.num_streamed;
  return true;
}

// Above the outcome of a completion: it has failed for good.
inline constexpr uint32_t kBroken = 1U << kSwitchShift;

TUTTI_BOTH inline void tell_trigger_over(DaemonState& state, Prepared& prepared) {
  // Pairs with the acquire of whoever waits. Last: it may be triggered again at once.
  fence_before_host_signals();
  add_relaxed(&state.num_streamed_over, 1);
  store_host_signal(&prepared.done, 1);
}

// The host hears of the first failure alone, and of nothing else. What fails goes on too: whoever
// waits for ever helps nobody.
TUTTI_BOTH inline void end_triggered(DaemonState& state, const Context& context, Outcome outcome,
                                     const Stall* stall) {
  Prepared& prepared = *context.issued.prepared;
  if (outcome != Outcome::kDone) {
    Completion& told = *context.issued.completion;
    uint32_t word = load_relaxed(&told.outcome);
    if (word == static_cast<uint32_t>(Outcome::kUnderWay)) {
      tell(told, context, stall);
      word = static_cast<uint32_t>(outcome);
    }
    if (outcome != Outcome::kMismatch) {
      word |= kBroken;
      store_relaxed(&prepared.submission.is_broken, 1);
    }
    // Pairs with the acquire in Preparations::outcome_of.
    store_release_host(&told.outcome, word);
  }
  tell_trigger_over(state, prepared);
}

}  // namespace tutti::engine::cuda
