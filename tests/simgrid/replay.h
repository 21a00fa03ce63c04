// Plays a schedule in SimGrid: the same links and routes, an actor a lane, by the rules of
// docs/reference/schedule.md. It shares no code with src/sim but the reading of schedules.
//
// SimGrid reckons in seconds and drops what is below 1e-9 of them, so a ns of ours is a second
// there.
#pragma once

#include <cstdint>

#include "ir/schedule.h"
#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::simgrid {

enum class Handover { kLending, kSlots };

// Flows with latency share a link in SimGrid by the inverse of it, as TCP does. To compare plain
// max-min sharing, the links get none and whoever moves a message sleeps for it first.
enum class Latency { kOfLinks, kSlept };

struct ReplayOptions {
  uint64_t bytes = 0;
  Handover handover = Handover::kLending;
  Latency latency = Latency::kSlept;
};

// The time at which the last actor is done, ns. SimGrid can run once in a process, so this forks;
// the schedule must pass verify, have no recv_reduce_send under lending and no scratch of any size.
[[nodiscard]] Result<double> replay(const ir::Schedule& schedule, const topo::Topology& topology,
                                    const ReplayOptions& options);

}  // namespace tutti::simgrid
