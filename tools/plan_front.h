// tutti plan --front: for each size of the message the plans that no other beats in both time and
// steps. The fastest of each size is what --algo auto gives for it, and is kept in the same cache.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/plan_answer.h"
#include "tutti/result.h"

namespace tutti::tools {

// The sizes that are asked for: 1 KiB to 1 GiB by factors of four.
[[nodiscard]] std::vector<uint64_t> front_sizes();

struct Front {
  std::string text;  // a table
  nlohmann::ordered_json json;
};

// `answer` gives what --algo auto says of a size.
[[nodiscard]] Result<Front> make_front(
    const std::function<Result<PlanAnswer>(uint64_t bytes)>& answer);

}  // namespace tutti::tools
