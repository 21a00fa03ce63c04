// A schedule from the content of an MSCCL file.
#pragma once

#include <optional>

#include "ir/msccl/algo.h"
#include "ir/schedule.h"
#include "tutti/result.h"

namespace tutti::ir::msccl {

// The schedule that the file was written from, if it carries our hints and they are true: only if
// writing that schedule again would give this content. Of good shape.
[[nodiscard]] std::optional<Schedule> reassemble(const Algo& algo);

// What the file itself says: one lane a thread block, nops as dependencies of the next step, as
// many slots as the protocol's FIFO holds messages. waits.h says what becomes of MSCCL's waits. Of
// good shape.
[[nodiscard]] Result<Schedule> import_plainly(const Algo& algo);

}  // namespace tutti::ir::msccl
