// Stage three: which transfers of a link, next to each other in time and in memory, are sent as one
// message. That saves a latency and makes the first wait for the last. Orders are fixed, so this is
// a small mixed-integer problem with exact times: begin and end of every transfer, and one yes or
// no for each pair of neighbours.
//
// Here a link is busy for latency and bytes of a message, as TACCL has it and as one lane behaves.
#pragma once

#include <vector>

#include "plan/synth/sketch/demand.h"
#include "plan/synth/sketch/logical.h"
#include "plan/synth/sketch/ordering.h"
#include "plan/synth/solver/solver.h"
#include "tutti/result.h"

namespace tutti::plan::sketch {

struct Contiguity {
  std::vector<Transfer> transfers;  // as ordered, with exact times and Transfer::joins
  double time_ns = 0;
  double apart_ns = 0;  // the same without any messages joined
  uint32_t num_pairs = 0;
  uint32_t num_joined = 0;
  double seconds = 0;
};

// Where the solver finds nothing better in its time, transfers stay apart. The solver's errors.
[[nodiscard]] Result<Contiguity> join_messages(const Logical& logical, const Demand& demand,
                                               const std::vector<Transfer>& ordered,
                                               solver::Solver& solver,
                                               const solver::SolveOptions& options);

}  // namespace tutti::plan::sketch
