// What ranks do when, summed up for those who have many: rows of neighbouring ranks, parts of the
// time, and the share of that time which ranks spend in each kind of work.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "tools/view/time_window.h"
#include "trace/trace.h"

namespace tutti::view {

// More ranks than this are summed up: lines of single ranks could not be read.
inline constexpr uint32_t kMostLanes = 64;

// {"rows": first rank of each and the end, "count", "ns": of a part, "shares": {"wait": [row by
// row, per mille of a part of the time, ...], "send", "recv", "reduce", "copy"}}. With several
// lanes a rank's shares may add up to more than 1,000. Of the window alone.
[[nodiscard]] nlohmann::ordered_json activity_json(const trace::Trace& trace, TimeWindow window);

}  // namespace tutti::view
