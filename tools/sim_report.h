// A simulation's report for people and for programs. The JSON is documented in
// docs/reference/simulator.md.
#pragma once

#include <string>

#include "ir/schedule.h"
#include "sim/report.h"
#include "topo/topology.h"

namespace tutti::tools {

struct SimulationShown {
  const ir::Schedule& schedule;
  const topo::Topology& topology;
  const sim::Report& report;
  uint64_t bytes;  // the size the bandwidths refer to
  std::string discipline;
};

void print_report(const SimulationShown& shown);
[[nodiscard]] std::string report_json(const SimulationShown& shown);

// What nccl-tests multiplies the algorithm bandwidth with to get the bus bandwidth.
[[nodiscard]] double bus_factor(const Collective& collective);

}  // namespace tutti::tools
