// A schedule from a sketch, through all stages: routing, ordering, contiguity, lowering; the
// simulator chooses lanes and pieces. What comes out is only a claim, as every schedule of a
// planner is.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "ir/schedule.h"
#include "plan/synth/sketch/contiguity.h"
#include "plan/synth/sketch/routing.h"
#include "plan/synth/sketch/sketch.h"
#include "plan/synth/solver/solver.h"
#include "topo/topology.h"
#include "tutti/collective.h"
#include "tutti/result.h"

namespace tutti::plan::sketch {

struct SynthesisOptions {
  uint64_t bytes = 1 << 20;  // as sim::Options counts
  double seconds = 30;       // of wall clock for the solver, all stages together
  double gap = 0.005;        // to the bound, at which the solver may stop
  uint32_t pieces = 0;       // of a chunk; 0: what simulates fastest
  // Which stage of which sketch is at work, and how far.
  std::function<void(std::string_view stage, const solver::Progress&)> progress = {};
  std::function<bool()> stop = {};     // true: go on with the best so far
  std::function<bool()> abandon = {};  // true: end at once, without an answer
};

struct Synthesis {
  Sketch sketch;
  ir::Schedule schedule;
  double ns = 0;        // simulated, for `bytes`
  double bound_ns = 0;  // no schedule on this topology is faster
  Routing routing;      // of the direction that took longer to find
  Contiguity contiguity;
  uint32_t pieces = 1;
  uint32_t lanes = 1;
  bool is_trees = false;   // every chunk's route is a pipeline of its own, in no order with others
  bool is_joined = false;  // messages are joined as `contiguity` says
  double solver_seconds = 0;
};

// The collectives that sketches serve: all_gather, reduce_scatter, all_reduce, all_to_all.
[[nodiscard]] bool is_served(CollectiveKind kind);

// The topology has as many ranks as the collective. Errors of topo::check_reach, logical_of, route
// and the solver; kUnsupported for a collective that is not served.
[[nodiscard]] Result<Synthesis> synthesize(const Collective& collective,
                                           const topo::Topology& topology, const Sketch& sketch,
                                           solver::Solver& solver, const SynthesisOptions& options);

// How fast any schedule could be: latency, what enters and leaves, and the exact cut bound of
// trees.
[[nodiscard]] Result<double> least_ns(const Collective& collective, const topo::Topology& topology,
                                      uint64_t bytes);

}  // namespace tutti::plan::sketch
