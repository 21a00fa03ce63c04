// How long a schedule takes on a topology, without running it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/result.h"
#include "tutti/schedule.h"
#include "tutti/topology.h"

namespace tutti {

struct SimulationOptions {
  uint64_t bytes = 0;  // as in nccl-tests: docs/reference/metrics.md
  uint32_t elem_bytes = 1;
  std::vector<uint64_t> block_elems = {};  // uneven blocks; `bytes` is then not looked at
};

struct Simulation {
  double time_ns = 0;
  double lower_bound_ns = 0;  // no schedule is faster than this on the topology
  std::vector<double> rank_finish_ns;
  uint64_t num_messages = 0;
};

// Rank i of the schedule runs on rank i of the topology, which may have more ranks.
[[nodiscard]] Result<Simulation> simulate(const VerifiedSchedule& schedule,
                                          const Topology& topology,
                                          const SimulationOptions& options);

}  // namespace tutti
