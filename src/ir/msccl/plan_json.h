// MSCCL++ execution plans: the JSON that its executor loads. plan.h says how a schedule becomes
// one, docs/reference/msccl.md what is promised. Export only.
#pragma once

#include <string>

#include "ir/schedule.h"
#include "tutti/result.h"

namespace tutti::ir::msccl {

// The schedule must be of good shape. kUnsupported for what MSCCL++ cannot say and for its limits,
// named; kMalformed when messages do not match.
[[nodiscard]] Result<std::string> to_plan_json(const Schedule& schedule);

}  // namespace tutti::ir::msccl
