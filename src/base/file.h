// Whole files in and out, with errors that name them. "-" is standard input or output.
#pragma once

#include <string>
#include <string_view>

#include "tutti/result.h"

namespace tutti::base {

[[nodiscard]] Result<std::string> read_file(const std::string& path);
// Writes a temporary file beside the target and renames it: a reader never sees half of it.
[[nodiscard]] Status write_file(const std::string& path, std::string_view text);

}  // namespace tutti::base
