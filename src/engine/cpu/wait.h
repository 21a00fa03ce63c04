// How a thread waits for operations: it runs the engine, and when nothing moves it first spins,
// then hands its core over, then sleeps until a peer rings. With more ranks than cores spinning
// only keeps the peer from running that would end the wait, so it hands over at once.
#pragma once

#include <cstdint>

#include "engine/cpu/engine.h"
#include "engine/cpu/operation.h"

namespace tutti::engine {

struct WaitPolicy {
  uint32_t looks = 0;              // of a small call for its peers, before it is an operation
  uint32_t spins = 0;              // turns without progress before the core is handed over
  uint64_t yield_ns = 200'000;     // how long it is handed over before sleeping
  uint64_t sleep_ns = 10'000'000;  // at most so long at a time

  // For this many ranks on this host.
  [[nodiscard]] static WaitPolicy for_ranks(uint32_t num_ranks);
};

// Runs the engine, this operation before others, until it is over or the clock passes `deadline_ns`
// (base/clock.h). Whether it is over.
[[nodiscard]] bool wait_until(Engine& engine, Operation& op, const WaitPolicy& policy,
                              uint64_t deadline_ns);

}  // namespace tutti::engine
