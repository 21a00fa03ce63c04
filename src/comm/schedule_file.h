// Reading a schedule that a user names: our JSON or MSCCL XML, told apart by the first character.
#pragma once

#include <string>
#include <string_view>

#include "ir/schedule.h"
#include "tutti/result.h"

namespace tutti::comm {

// "-" is standard input.
[[nodiscard]] Result<ir::Schedule> read_schedule(const std::string& path);
[[nodiscard]] Result<ir::Schedule> parse_schedule(std::string_view text, std::string source);

}  // namespace tutti::comm
