// MSCCL XML: the format that MSCCL, RCCL and msccl-tools exchange algorithms in.
// docs/reference/msccl.md says what is translated how. to_xml writes what MSCCL's parser reads and
// refuses, with the name of the limit, what it does not; attributes that begin with "tutti_" carry
// what the format lacks, so that from_xml(to_xml(s)) is s. A file that was edited since, or that
// others wrote, is read by what the format itself says.
#pragma once

#include <string>
#include <string_view>

#include "ir/schedule.h"
#include "tutti/result.h"

namespace tutti::ir::msccl {

// The schedule must be of good shape.
[[nodiscard]] Result<std::string> to_xml(const Schedule& schedule);

// Returns only schedules of good shape. Errors give file, line and attribute.
[[nodiscard]] Result<Schedule> from_xml(std::string_view text, std::string source);

}  // namespace tutti::ir::msccl
