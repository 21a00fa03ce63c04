// What the handles of include/tutti.h are, and how C++ answers become C answers.
#pragma once

#include <tutti.h>

#include <new>
#include <utility>

#include "tutti/communicator.h"

// NOLINTNEXTLINE(readability-identifier-naming): C names it
struct tutti_comm {
  explicit tutti_comm(tutti::Communicator one) : comm(std::move(one)) {}

  tutti::Communicator comm;
};

// NOLINTNEXTLINE(readability-identifier-naming): C names it
struct tutti_work {
  explicit tutti_work(tutti::Work one) : work(std::move(one)) {}

  tutti::Work work;
};

namespace tutti::capi {

// Remembers the message for tutti_last_error.
tutti_error failed(const Error& error) noexcept;
tutti_error failed(ErrorCode code, const char* message) noexcept;
inline tutti_error answer(const Status& status) noexcept {
  return status.ok() ? TUTTI_OK : failed(status.error());
}

// Whether a number that came from C is an enumerator.
constexpr bool is_one_of(int number, int num_enumerators) noexcept {
  return number >= 0 && number < num_enumerators;
}

// The caller's options; of an older caller those that it knows. kUnsupported when a newer caller
// asks for what this library does not have.
Result<CallOptions> options_of(const tutti_options* options) noexcept;

// A handle for a result, or its error.
template <class Handle, class T>
tutti_error hand_out(Result<T> result, Handle** handle) noexcept {
  if (!result.ok()) return failed(result.error());
  *handle = new (std::nothrow) Handle(*std::move(result));
  return *handle == nullptr ? failed(ErrorCode::kOutOfMemory, "no memory for a handle") : TUTTI_OK;
}

}  // namespace tutti::capi
