#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace tutti::base {

void check_failed(const char* condition, const char* meaning, const char* file, int line) noexcept {
  std::fprintf(stderr, "tutti: internal error at %s:%d: %s (%s)\n", file, line, meaning, condition);
  std::abort();
}

}  // namespace tutti::base
