// How a failure becomes NCCL's: a code, and a text that the thread can ask for.
#pragma once

#include <string>

#include "frontends/nccl/nccl_abi.h"
#include "tutti/result.h"

namespace tutti::nccl {

[[nodiscard]] ncclResult_t code_of(ErrorCode code) noexcept;

// Keeps the text for ncclGetLastError of the calling thread.
ncclResult_t failed(const Error& error) noexcept;
inline ncclResult_t answer(const Status& status) noexcept {
  return status.ok() ? ncclSuccess : failed(status.error());
}

// Answered with ncclInvalidArgument and ncclInvalidUsage.
[[nodiscard]] inline Error bad_argument(std::string what) {
  return {ErrorCode::kInvalidArgument, std::move(what)};
}
[[nodiscard]] inline Error bad_usage(std::string what) {
  return {ErrorCode::kUnsupported, std::move(what)};
}

}  // namespace tutti::nccl
