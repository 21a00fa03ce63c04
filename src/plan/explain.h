// Says in one sentence why a candidate won: what it waits for most, and what comes second.
#pragma once

#include <span>
#include <string>

#include "plan/select.h"
#include "sim/report.h"

namespace tutti::plan {

// `candidates` as Selection has them; the report is that of the first.
[[nodiscard]] std::string explain(std::span<const Candidate> candidates, const sim::Report& winner);

}  // namespace tutti::plan
