// A text as JSON writes it. What is not UTF-8 becomes U+FFFD: a trace is never lost to a name.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tutti::trace {

inline std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace tutti::trace
