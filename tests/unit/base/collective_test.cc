#include "tutti/collective.h"

#include <gtest/gtest.h>

#include "base/try.h"

namespace tutti {
namespace {

TEST(Collective, NamesReadBack) {
  for (int i = 0; i < kNumCollectiveKinds; ++i) {
    const auto kind = static_cast<CollectiveKind>(i);
    EXPECT_EQ(parse_collective_kind(to_string(kind)), kind);
  }
  EXPECT_EQ(parse_collective_kind("allreduce"), std::nullopt);
}

Result<int> half(int x) {
  if (x % 2 != 0) return Error{ErrorCode::kInvalidArgument, "odd"};
  return x / 2;
}

Result<int> quarter(int x) {
  TUTTI_ASSIGN(const int h, half(x));
  TUTTI_TRY(half(h));
  return half(h);
}

TEST(Result, PassesTheFirstErrorUp) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(7).error().message, "odd");
  EXPECT_EQ(quarter(6).error().code, ErrorCode::kInvalidArgument);
}

TEST(Result, EndsTheProgramWhenAnErrorIsTakenForAValue) {
  EXPECT_DEATH(half(1).value(), "invalid argument: odd");
}

}  // namespace
}  // namespace tutti
