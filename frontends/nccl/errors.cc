#include "frontends/nccl/errors.h"

#include "frontends/nccl/alias.h"

namespace tutti::nccl {
namespace {

thread_local std::string g_last_error;

}  // namespace

ncclResult_t code_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidArgument: return ncclInvalidArgument;
    case ErrorCode::kMalformed:
    case ErrorCode::kUnsupported: return ncclInvalidUsage;
    case ErrorCode::kNotFound:
    case ErrorCode::kIo:
    case ErrorCode::kOutOfMemory: return ncclSystemError;
    case ErrorCode::kRefused: return ncclInternalError;
    case ErrorCode::kDeadline:
    case ErrorCode::kAborted:
    case ErrorCode::kPeerLost: return ncclRemoteError;
  }
  return ncclInternalError;
}

ncclResult_t failed(const Error& error) noexcept {
  g_last_error = error.message;
  return code_of(error.code);
}

}  // namespace tutti::nccl

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  if (version == nullptr) return tutti::nccl::failed(tutti::nccl::bad_argument("version is NULL"));
  *version = tutti::nccl::kVersion;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess: return "all is well";
    case ncclUnhandledCudaError: return "CUDA reported an error";
    case ncclSystemError: return "the system refused something: memory, a file or a socket";
    case ncclInternalError: return "an error of the library itself";
    case ncclInvalidArgument: return "an argument is wrong";
    case ncclInvalidUsage: return "a call that cannot be made so, or is not served";
    case ncclRemoteError: return "another rank was lost, gave up, or did not come in time";
    case ncclInProgress: return "not over yet";
    case ncclNumResults: break;
  }
  return "no such code";
}

const char* ncclGetLastError(ncclComm_t /*comm*/) { return tutti::nccl::g_last_error.c_str(); }

// What is logged is set by TUTTI_DEBUG, once.
void ncclResetDebugInit() {}

}  // extern "C"

TUTTI_NCCL_ALIAS(GetVersion);
TUTTI_NCCL_ALIAS(GetErrorString);
TUTTI_NCCL_ALIAS(GetLastError);
TUTTI_NCCL_ALIAS(ResetDebugInit);
