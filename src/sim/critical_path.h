// The chain of steps that made the collective take as long as it did: from the last step to
// finish, back along what each one had waited for last, to a rank's start.
#pragma once

#include <vector>

#include "sim/connections.h"
#include "sim/machine.h"
#include "sim/program.h"
#include "sim/report.h"
#include "sim/step_log.h"

namespace tutti::sim {

struct FinishedRun {
  const Program& program;
  const Machine& machine;
  const StepLog& log;
  const Connections* connections;  // null under lending
};

// From time 0 to the end of `last`, in order and without gaps; slices of no length are left out.
[[nodiscard]] std::vector<Slice> critical_path(const FinishedRun& run, StepNumber last);

}  // namespace tutti::sim
