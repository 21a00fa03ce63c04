// Elements whose sums are exact, whatever the type and the order: so a wrong one is wrong, and no
// tolerance is needed.
#pragma once

#include <cstdint>

#include "tutti/data_type.h"

namespace tutti::tools::perf {

// What rank `rank` contributes at place `place` of the row.
[[nodiscard]] double contribution(DataType type, Op op, uint32_t rank, uint64_t place);
// All contributions reduced, as an element of the type holds it.
[[nodiscard]] double reduced(DataType type, Op op, uint32_t num_ranks, uint64_t place);

void store(DataType type, void* row, uint64_t place, double value);
[[nodiscard]] double load(DataType type, const void* row, uint64_t place);

}  // namespace tutti::tools::perf
