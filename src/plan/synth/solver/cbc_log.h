// What cbc says about itself: its log while it runs, and the solution file it leaves.
#pragma once

#include <string_view>

#include "plan/synth/solver/solver.h"
#include "tutti/result.h"

namespace tutti::plan::solver {

// Takes what the line tells into `progress`; whether it told anything.
[[nodiscard]] bool read_cbc_line(std::string_view line, Progress& progress);

// The file's first line says how it ended, the others name the variables that are not 0. Fills in
// outcome, cost and values; bound and times are the caller's to know. kMalformed for anything else.
[[nodiscard]] Result<Solution> read_cbc_solution(std::string_view text, size_t num_variables);

}  // namespace tutti::plan::solver
