// What is worth trying for a collective of a size: every algorithm, with those of its options that
// could matter there.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/choose.h"
#include "tutti/collective.h"

namespace tutti::tools::perf {

// No two have the same schedule, and none that of the built-in rules.
[[nodiscard]] std::vector<comm::Choice> candidates(const Collective& collective, uint64_t bytes);

}  // namespace tutti::tools::perf
