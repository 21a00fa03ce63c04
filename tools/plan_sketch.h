// tutti plan --algo sketch: schedules from a sketch, or from sketches that are drawn automatically.
#pragma once

#include <cstdint>
#include <string>

#include "ir/schedule.h"
#include "tools/topology_argument.h"
#include "tutti/collective.h"
#include "tutti/result.h"

namespace tutti::tools {

struct SketchArguments {
  std::string file;      // empty: draw them
  std::string out;       // where the sketch that was used goes, in our format; empty: nowhere
  std::string topo_out;  // the same for the topology
  double seconds = 30;
  std::string solver;  // cbc or highs; empty: whichever is there
};

struct SketchRequest {
  Collective collective;
  TopologyArgument topology;
  uint64_t bytes = 0;
  uint32_t pieces = 0;
  bool json = false;
};

struct SketchAnswer {
  ir::Schedule schedule;
  std::string summary;  // JSON
};

// Prints to standard error what was found, unless JSON was asked for; on a terminal also how far
// the solver is. Ctrl-C goes on with the best so far.
[[nodiscard]] Result<SketchAnswer> plan_from_sketch(const SketchArguments& arguments,
                                                    const SketchRequest& request);

}  // namespace tutti::tools
