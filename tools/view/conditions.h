// What several answers share: the size and the troubles of a simulation.
#pragma once

#include "sim/options.h"
#include "tools/view/question.h"

namespace tutti::view {

// `bytes`, `slow` (RANK*FACTOR) and `late` (RANK+NS) of the question.
[[nodiscard]] Result<sim::Options> conditions_of(const Question& question, uint32_t num_ranks);

}  // namespace tutti::view
