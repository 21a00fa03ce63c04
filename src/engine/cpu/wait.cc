#include "engine/cpu/wait.h"

#include <sched.h>

#include <algorithm>

#include "base/clock.h"
#include "engine/cpu/pause.h"

namespace tutti::engine {
namespace {

uint32_t cores_allowed() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<uint32_t>(CPU_COUNT(&set));
}

bool is_over(const Operation& op) {
  return op.state.load(std::memory_order_acquire) != OperationState::kRunning;
}

// Nothing moved for long: until a peer rings, or `until`.
void sleep_once(Engine& engine, uint64_t max_ns) {
  const transport::Endpoint& endpoint = engine.endpoint();
  const uint32_t ticket = endpoint.prepare_sleep();
  // What was published before the ticket rings no bell, so look once more.
  if (engine.progress()) {
    endpoint.cancel_sleep();
    return;
  }
  endpoint.sleep(ticket, max_ns);
}

}  // namespace

WaitPolicy WaitPolicy::for_ranks(uint32_t num_ranks) {
  WaitPolicy policy;
  if (num_ranks > cores_allowed()) return policy;
  // About 20 us: longer than a peer on another core takes to answer, shorter than a wake-up.
  policy.spins = 500;
  policy.looks = 16;  // less than a microsecond
  return policy;
}

bool wait_until(Engine& engine, Operation& op, const WaitPolicy& policy, uint64_t deadline_ns) {
  uint32_t idle_turns = 0;
  uint64_t idle_since = 0;
  // Liveness: every turn looks for what peers have published; the deadline ends it in any case.
  while (!is_over(op)) {
    if (engine.progress(&op)) {
      idle_turns = 0;
      continue;
    }
    if (++idle_turns <= policy.spins) {
      pause_briefly();
      continue;
    }
    const uint64_t now = base::now_ns();
    if (idle_turns == policy.spins + 1) idle_since = now;
    if (now >= deadline_ns) return is_over(op);
    if (now - idle_since < policy.yield_ns) {
      sched_yield();
    } else {
      sleep_once(engine, std::min(policy.sleep_ns, deadline_ns - now));
    }
  }
  return true;
}

}  // namespace tutti::engine
