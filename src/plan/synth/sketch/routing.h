// Stage one: which links each chunk takes. A mixed-integer problem in which links are only busy in
// sum and not in order: the time is at least that of every chunk's way, and at least what every
// port has to carry. What is the same by symmetry is one variable.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/synth/sketch/demand.h"
#include "plan/synth/sketch/logical.h"
#include "plan/synth/sketch/sketch.h"
#include "plan/synth/sketch/ways.h"
#include "plan/synth/solver/solver.h"
#include "tutti/result.h"

namespace tutti::plan::sketch {

struct RoutingOptions {
  solver::SolveOptions solve;
  double known_bound_ns = 0;  // no routes are faster than this; closes the gap early
  // What the mean arrival counts beside the time, so that chunks that are not in a hurry do not
  // take roundabout ways.
  double arrival_weight = 0.004;
};

struct Routing {
  std::vector<std::vector<uint32_t>> links;  // of each chunk, from its origin outwards
  double time_ns = 0;                        // of these routes
  double bound_ns = 0;                       // no routes of this sketch are faster
  bool is_best = false;                      // proved, within the gap asked for
  double seconds = 0;
  uint64_t num_rows = 0;
  uint64_t num_binaries = 0;
};

// Where the solver finds nothing in its time, or is stopped before, every chunk takes its quickest
// way, if these are routes of the sketch; else kDeadline or kAborted. kRefused where the problem is
// proved to have no solution; kIo where the solver's answer is none; Ways::make's errors; the
// solver's.
[[nodiscard]] Result<Routing> route(const Logical& logical, const Demand& demand,
                                    const Sketch& sketch, solver::Solver& solver,
                                    const RoutingOptions& options);

// The relaxed time of given routes.
[[nodiscard]] double routed_ns(const Logical& logical, const Demand& demand,
                               const std::vector<std::vector<uint32_t>>& links);

}  // namespace tutti::plan::sketch
