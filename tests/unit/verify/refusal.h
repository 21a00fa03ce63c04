// What the tests of verify::check ask: is it proved, and if not, why not.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "verify/check.h"

namespace tutti::verify {

// The refusal of a schedule that must be refused.
inline Refusal refusal_of(ir::Schedule schedule) {
  Verdict verdict = check(std::move(schedule));
  if (!verdict.proved()) return verdict.refusal();
  ADD_FAILURE() << "proved, but is wrong";
  return {};
}

inline void expect_proved(ir::Schedule schedule) {
  const Verdict verdict = check(std::move(schedule));
  EXPECT_TRUE(verdict.proved()) << verdict.refusal().message;
}

}  // namespace tutti::verify
