#include "plan/packing/flow.h"

#include <gtest/gtest.h>

namespace tutti::plan::packing {
namespace {

// From 0 through 1 to 30, which take as much as they are given, each with 2 on to 31.
TEST(Flow, OfManyUnlimitedArcsIsWhatTheLimitedOnesCarry) {
  constexpr uint32_t kMiddle = 30;
  Flow flow(kMiddle + 2);
  for (uint32_t node = 1; node <= kMiddle; ++node) {
    flow.add(0, node, kUnlimited);
    flow.add(node, kMiddle + 1, 2);
  }
  EXPECT_EQ(flow.run(0, kMiddle + 1), 2 * int64_t{kMiddle});
  EXPECT_TRUE(flow.source_side()[0]);
  EXPECT_FALSE(flow.source_side()[kMiddle + 1]);
  for (uint32_t arc = 0; arc < 2 * kMiddle; ++arc) EXPECT_EQ(flow.on(arc), 2);
}

TEST(Flow, ThatNothingLimitsIsMoreThanAllLimits) {
  Flow flow(3);
  flow.add(0, 1, kUnlimited);
  flow.add(1, 2, kUnlimited);
  flow.add(0, 2, 5);
  EXPECT_GT(flow.run(0, 2), 5);
  EXPECT_TRUE(flow.run(2, 0) == 0 && !flow.source_side()[0]);
}

}  // namespace
}  // namespace tutti::plan::packing
