// The text form of a schedule: JSON with the header first and then one step a line, so that a
// person can read it and a diff can show it. docs/reference/schedule.md describes every field.
// A schedule whose dependencies are kept in step order, as Builder and from_text keep them, comes
// back from its text equal to itself.
#pragma once

#include <string>
#include <string_view>

#include "ir/schedule.h"
#include "tutti/result.h"

namespace tutti::ir {

// The schedule must be of good shape (ir/shape.h).
[[nodiscard]] std::string to_text(const Schedule& schedule);

// Returns only schedules of good shape. `source` names the text in errors, which give the line and
// the field: "ring.json:17: 'dst': ...".
[[nodiscard]] Result<Schedule> from_text(std::string_view text, std::string source);

}  // namespace tutti::ir
