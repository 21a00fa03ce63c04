// The commonest error: the caller asked for what cannot be.
#pragma once

#include <string>
#include <utility>

#include "tutti/result.h"

namespace tutti {

[[nodiscard]] inline Error invalid(std::string message) {
  return {ErrorCode::kInvalidArgument, std::move(message)};
}

}  // namespace tutti
