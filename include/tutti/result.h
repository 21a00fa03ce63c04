// How tutti reports failure: a value or an Error, never an exception.
// A call that the caller or the environment made impossible returns an Error and has
// changed nothing. A broken invariant of ours is TUTTI_CHECK (src/base/check.h) instead.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace tutti {

enum class ErrorCode {
  kInvalidArgument,  // the caller asked for something that cannot be
  kMalformed,        // a file or message is not what it claims to be
  kUnsupported,      // well formed, but not served here
  kNotFound,         // no such file, machine, algorithm
  kIo,               // the system refused to read or write
  kRefused,          // the verifier found the schedule wrong
  kDeadline,         // a wait reached its deadline
  kAborted,          // someone called abort
  kPeerLost,         // a rank died
  kOutOfMemory,
};

[[nodiscard]] const char* to_string(ErrorCode code) noexcept;

// What went wrong, in a sentence that names the place (file, line, rank, step) and what to try.
struct [[nodiscard]] Error {
  ErrorCode code;
  std::string message;
  std::source_location where = std::source_location::current();
};

// A T or the Error that prevented it. Look before you take: value() of an error ends the program
// with the error's message, which is what small programs want and libraries must not do.
template <class T = std::monostate>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result()
    requires std::is_same_v<T, std::monostate>
  = default;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  T& operator*() & { return *std::get_if<0>(&state_); }
  const T& operator*() const& { return *std::get_if<0>(&state_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }

  T& value() & { return require_ok(), **this; }
  const T& value() const& { return require_ok(), **this; }
  // By value, so that `for (auto& x : make().value())` keeps what it walks over.
  T value() && { return require_ok(), *std::move(*this); }

  [[nodiscard]] Error& error() { return *std::get_if<1>(&state_); }
  [[nodiscard]] const Error& error() const { return *std::get_if<1>(&state_); }

 private:
  void require_ok() const {
    if (ok()) return;
    std::fprintf(stderr, "tutti: %s: %s\n", to_string(error().code), error().message.c_str());
    std::abort();
  }

  std::variant<T, Error> state_;
};

using Status = Result<>;

}  // namespace tutti
