// Greedy synthesis: a schedule for any topology of any size, in the time that its messages take to
// write down. Never proved best; the bound says how far from it. The door to greedy_*.h.
//
//   all_gather, broadcast   chunks are copied on from whoever has them
//   reduce_scatter, reduce  the same on the reversed links, run backwards in time
//   all_reduce              reduce_scatter, then all_gather of each chunk when its sum is there
//   all_to_all              every chunk goes to one rank, others pass it on along shortest ways
#pragma once

#include <cstdint>

#include "ir/schedule.h"
#include "plan/synth/greedy_schedule.h"
#include "plan/synth/greedy_transfers.h"
#include "topo/topology.h"
#include "tutti/collective.h"
#include "tutti/result.h"

namespace tutti::plan::synth {

[[nodiscard]] bool is_greedy(CollectiveKind kind);

struct GreedyOptions {
  uint64_t bytes = 0;   // as sim::Options counts them; the schedule serves any size
  uint32_t chunks = 1;  // pieces of each rank's part; of the message where there is one root
  uint32_t lanes = 0;   // of each port; 0: by latency, and two at least where sums are added up
  Turns turns = Turns::kLanes;  // how a port has as many messages under way
  uint64_t seed = 1;
  GreedyProgress progress = {};
};

struct GreedySchedule {
  ir::Schedule schedule;
  double planned_ns = 0;  // as it was made, reductions not counted
};

// Steps of the schedule; of all_to_all at least so many.
[[nodiscard]] uint64_t num_greedy_steps(const Collective& collective, uint32_t chunks);

// The topology has as many ranks as the collective. kUnsupported for a collective that is not
// served and for more steps than a schedule may have; kAborted; network_of's errors. The same
// input gives the same schedule.
[[nodiscard]] Result<GreedySchedule> make_greedy(const Collective& collective,
                                                 const topo::Topology& topology,
                                                 const GreedyOptions& options);

struct GreedyCount {
  uint64_t num_messages = 0;
  double planned_ns = 0;
};

// The synthesis alone: the same transfers, counted and not written down. For sizes whose schedules
// are too large to hold.
[[nodiscard]] Result<GreedyCount> count_greedy(const Collective& collective,
                                               const topo::Topology& topology,
                                               const GreedyOptions& options);

}  // namespace tutti::plan::synth
