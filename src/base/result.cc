#include "tutti/result.h"

namespace tutti {

const char* to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidArgument: return "invalid argument";
    case ErrorCode::kMalformed: return "malformed";
    case ErrorCode::kUnsupported: return "unsupported";
    case ErrorCode::kNotFound: return "not found";
    case ErrorCode::kIo: return "input/output";
    case ErrorCode::kRefused: return "refused";
    case ErrorCode::kDeadline: return "deadline";
    case ErrorCode::kAborted: return "aborted";
    case ErrorCode::kPeerLost: return "peer lost";
    case ErrorCode::kOutOfMemory: return "out of memory";
  }
  return "unknown error";
}

}  // namespace tutti
