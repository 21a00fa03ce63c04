// How a replay was followed and how it ended, as JSON: what a history and an overview share.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "verify/course.h"
#include "verify/overview.h"

namespace tutti::view {

[[nodiscard]] nlohmann::ordered_json refusal_json(const verify::Refusal& refusal);
// [rank, lane, step]
[[nodiscard]] nlohmann::ordered_json name_json(const verify::StepName& name);
[[nodiscard]] nlohmann::ordered_json names_json(const std::vector<verify::StepName>& names);
// discipline, placement, stuck and, where there is one, stopped_by.
[[nodiscard]] nlohmann::ordered_json course_json(const verify::Course& course);

// Pairs and triples are written one behind the other: there are hundreds of thousands.
[[nodiscard]] nlohmann::ordered_json overview_json(const verify::Overview& overview);

}  // namespace tutti::view
