// What several answers share: the size and the troubles of a simulation, and events as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/options.h"
#include "tools/view/question.h"
#include "trace/trace.h"

namespace tutti::view {

// `bytes`, `slow` (RANK*FACTOR) and `late` (RANK+NS) of the question.
[[nodiscard]] Result<sim::Options> conditions_of(const Question& question, uint32_t num_ranks);

// [kind, op, begin_ns, end_ns or null, rank, lane, step, peer or null, bytes] each, times counted
// from `origin` (ticks). The first 30,000.
[[nodiscard]] nlohmann::ordered_json events_json(const trace::Trace& trace, int64_t origin);

}  // namespace tutti::view
