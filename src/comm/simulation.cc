// include/tutti/simulation.h over src/sim.
#include "tutti/simulation.h"

#include <utility>

#include "base/try.h"
#include "ir/schedule.h"
#include "sim/simulate.h"
#include "topo/topology.h"

namespace tutti {

Result<Simulation> simulate(const VerifiedSchedule& schedule, const Topology& topology,
                            const SimulationOptions& options) {
  sim::Options inner;
  inner.bytes = options.bytes;
  inner.elem_bytes = options.elem_bytes;
  inner.block_elems = options.block_elems;
  TUTTI_ASSIGN(sim::Report report,
               sim::simulate(schedule.schedule().data(), topology.graph(), inner));
  return Simulation{report.total_ns, report.bound.ns(), std::move(report.rank_finish_ns),
                    report.num_messages};
}

}  // namespace tutti
