#include "capi/handles.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "tutti/version.h"

namespace tutti::capi {
namespace {

thread_local std::string g_last_error;

constexpr int code_of(ErrorCode code) { return static_cast<int>(code) + 1; }
static_assert(code_of(ErrorCode::kInvalidArgument) == TUTTI_INVALID_ARGUMENT);
static_assert(code_of(ErrorCode::kMalformed) == TUTTI_MALFORMED);
static_assert(code_of(ErrorCode::kUnsupported) == TUTTI_UNSUPPORTED);
static_assert(code_of(ErrorCode::kNotFound) == TUTTI_NOT_FOUND);
static_assert(code_of(ErrorCode::kIo) == TUTTI_IO);
static_assert(code_of(ErrorCode::kRefused) == TUTTI_REFUSED);
static_assert(code_of(ErrorCode::kDeadline) == TUTTI_DEADLINE);
static_assert(code_of(ErrorCode::kAborted) == TUTTI_ABORTED);
static_assert(code_of(ErrorCode::kPeerLost) == TUTTI_PEER_LOST);
static_assert(code_of(ErrorCode::kOutOfMemory) == TUTTI_OUT_OF_MEMORY);

// A struct as the first version had it is the least that a caller can have.
constexpr size_t kFirstOptions = offsetof(tutti_options, deadline_ns) + sizeof(int64_t);

}  // namespace

tutti_error failed(const Error& error) noexcept {
  g_last_error = error.message;
  return static_cast<tutti_error>(code_of(error.code));
}

tutti_error failed(ErrorCode code, const char* message) noexcept {
  return failed(Error{code, message});
}

Result<CallOptions> options_of(const tutti_options* options) noexcept {
  if (options == nullptr) return CallOptions{};
  if (options->size < kFirstOptions) {
    return Error{ErrorCode::kInvalidArgument,
                 "options.size is too small: begin with TUTTI_OPTIONS_INIT"};
  }
  const auto* const bytes = reinterpret_cast<const unsigned char*>(options);
  const auto* const known = bytes + sizeof(tutti_options);
  const bool asks_for_more = options->size > sizeof(tutti_options) &&
                             std::any_of(known, bytes + options->size, [](auto b) { return b; });
  if (asks_for_more) {
    return Error{ErrorCode::kUnsupported,
                 "an option is set that this version of libtutti.so does not know"};
  }
  CallOptions known_options;
  if (!is_one_of(options->op, kNumOps))
    return Error{ErrorCode::kInvalidArgument, "no such operator"};
  known_options.op = static_cast<Op>(options->op);
  known_options.root = options->root;
  known_options.factor = options->factor;
  if (options->name != nullptr) known_options.name = options->name;
  known_options.tag = options->tag;
  known_options.deadline = std::chrono::nanoseconds(options->deadline_ns);
  return known_options;
}

}  // namespace tutti::capi

extern "C" {

const char* tutti_version() { return tutti::version(); }

const char* tutti_error_text(tutti_error code) {
  switch (code) {
    case TUTTI_OK: return "success";
    case TUTTI_NOT_YET: return "still under way";
    case TUTTI_INVALID_ARGUMENT:
    case TUTTI_MALFORMED:
    case TUTTI_UNSUPPORTED:
    case TUTTI_NOT_FOUND:
    case TUTTI_IO:
    case TUTTI_REFUSED:
    case TUTTI_DEADLINE:
    case TUTTI_ABORTED:
    case TUTTI_PEER_LOST:
    case TUTTI_OUT_OF_MEMORY: return to_string(static_cast<tutti::ErrorCode>(code - 1));
  }
  return "unknown error";
}

const char* tutti_last_error() { return tutti::capi::g_last_error.c_str(); }

size_t tutti_type_size(tutti_type type) {
  const bool exists = tutti::capi::is_one_of(type, tutti::kNumDataTypes);
  return exists ? tutti::size_of(static_cast<tutti::DataType>(type)) : 0;
}

}  // extern "C"
