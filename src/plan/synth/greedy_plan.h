// The greedy schedule for a size, with the best of a few choices by simulation, and how far from
// the bound it is.
#pragma once

#include <cstdint>
#include <string>

#include "ir/schedule.h"
#include "plan/synth/greedy.h"
#include "topo/topology.h"
#include "tutti/collective.h"
#include "tutti/result.h"

namespace tutti::plan::synth {

struct GreedyPlan {
  ir::Schedule schedule;
  uint32_t chunks = 0;
  double planned_ns = 0;    // as the links were filled, reductions not counted
  double simulated_ns = 0;  // 0: too many steps to simulate here
  double bound_ns = 0;      // no schedule is faster; 0: nothing moves
  std::string bound;        // what proves it, in words

  [[nodiscard]] double ns() const { return simulated_ns > 0 ? simulated_ns : planned_ns; }
};

// chunks 0: the best number by simulation, where schedules are small enough to try several;
// otherwise 1. Errors: those of make_greedy and of the simulator.
[[nodiscard]] Result<GreedyPlan> plan_greedy(const Collective& collective,
                                             const topo::Topology& topology,
                                             const GreedyOptions& options);

// The largest of the bounds by latency, by what enters and leaves devices and machines, and for
// all_to_all by the length of all ways: ns, and in words.
struct GreedyBound {
  double ns = 0;
  std::string why;
};
[[nodiscard]] Result<GreedyBound> bound_for(const Collective& collective,
                                            const topo::Topology& topology, uint64_t bytes);

}  // namespace tutti::plan::synth
