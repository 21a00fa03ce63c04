// What HiGHS says about itself: its log while it runs, the solutions it notes on the way, and the
// file it leaves at the end.
#pragma once

#include <string_view>

#include "plan/synth/solver/solver.h"
#include "tutti/result.h"

namespace tutti::plan::solver {

// Takes what the line tells into `progress`; whether it told anything.
[[nodiscard]] bool read_highs_line(std::string_view line, Progress& progress);

// The solution file: how it ended, then the value of every variable. Fills in outcome, cost and
// values. kMalformed for anything else.
[[nodiscard]] Result<Solution> read_highs_solution(std::string_view text, size_t num_variables);

// The file of solutions that were each better than the last: the last that was written whole, as
// an incumbent; kNothingFound where there is none.
[[nodiscard]] Solution last_highs_improvement(std::string_view text, size_t num_variables);

}  // namespace tutti::plan::solver
