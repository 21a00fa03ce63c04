// How many chunks a block is cut into, where the number grows with ranks and options and could
// exceed what a layout can number.
#pragma once

#include <cstdint>

#include "tutti/collective.h"
#include "tutti/result.h"

namespace tutti::plan {

// The given number, or kInvalidArgument when the collective would have more than 2^32 - 2 chunks.
[[nodiscard]] Result<uint32_t> chunks_per_block(const Collective& collective, uint64_t wanted);

}  // namespace tutti::plan
