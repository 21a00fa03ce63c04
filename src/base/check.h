// The answer to a broken invariant of ours: say which, and stop. On in every build.
// Never for bad input (return an Error) and never for the outside world (complete with an Error).
#pragma once

namespace tutti::base {

[[noreturn]] void check_failed(const char* condition, const char* meaning, const char* file,
                               int line) noexcept;

}  // namespace tutti::base

#define TUTTI_CHECK(condition, meaning) \
  ((condition) ? (void)0 : ::tutti::base::check_failed(#condition, meaning, __FILE__, __LINE__))
