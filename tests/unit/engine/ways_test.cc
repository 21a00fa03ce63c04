#include "engine/ways.h"

#include <gtest/gtest.h>

#include <array>

namespace tutti::engine {
namespace {

using Costs = std::array<uint64_t, 3>;  // by way

// Calls one after the other, each alone and of the given cost; how many took each way.
Costs make_calls(Ways& ways, const Costs& costs, uint32_t num_calls) {
  Costs taken{};
  for (uint32_t i = 0; i < num_calls; ++i) {
    const Ways::Turn turn = ways.next();
    ++taken[static_cast<size_t>(turn.way)];
    if (turn.is_trial) ways.took(costs[static_cast<size_t>(turn.way)]);
  }
  return taken;
}

constexpr uint32_t kTrial = 3 * Ways::Effort{}.calls * Ways::Effort{}.rows;

Ways started(Way usual, bool can_pull = true) {
  Ways ways;
  ways.start(usual, can_pull, {});
  return ways;
}

TEST(Ways, TheFirstCallsTakeTheUsualOne) {
  for (const Way usual : {Way::kMirror, Way::kStream, Way::kPull}) {
    Ways ways = started(usual);
    for (uint32_t i = 0; i < Ways::kWarmUps; ++i) {
      const Ways::Turn turn = ways.next();
      EXPECT_EQ(turn.way, usual);
      EXPECT_FALSE(turn.is_trial);
    }
    EXPECT_TRUE(ways.next().is_trial);
  }
}

TEST(Ways, TheFastestIsFoundAfterOneTrial) {
  for (size_t fastest = 0; fastest < 3; ++fastest) {
    Ways ways = started(Way::kMirror);
    Costs costs{100, 100, 100};
    costs[fastest] = 50;
    const Costs tried = make_calls(ways, costs, Ways::kWarmUps + kTrial);
    EXPECT_EQ(tried, (Costs{kTrial / 3 + Ways::kWarmUps, kTrial / 3, kTrial / 3}));
    EXPECT_EQ(make_calls(ways, costs, Ways::kFirstPeriod)[fastest], Ways::kFirstPeriod);
  }
}

TEST(Ways, ATenthLessIsNoise) {
  Ways ways = started(Way::kStream);
  make_calls(ways, {91, 100, 95}, Ways::kWarmUps + kTrial);
  EXPECT_EQ(ways.best(), Way::kStream);
  make_calls(ways, {89, 100, 95}, 10 * Ways::kFirstPeriod);
  EXPECT_EQ(ways.best(), Way::kMirror);
}

TEST(Ways, WhatIsFastestLaterIsFoundToo) {
  Ways ways = started(Way::kMirror);
  make_calls(ways, {100, 200, 300}, 10'000);
  EXPECT_EQ(ways.best(), Way::kMirror);
  make_calls(ways, {300, 200, 100}, Ways::kLongestPeriod + kTrial);
  EXPECT_EQ(ways.best(), Way::kPull);
}

TEST(Ways, TrialsGetRareWhileTheyEndAlike) {
  Ways ways = started(Way::kMirror);
  const Costs costs{100, 200, 300};
  make_calls(ways, costs, 100'000);
  const Costs taken = make_calls(ways, costs, 100'000);
  EXPECT_GE(taken[0], 99'500U);
  EXPECT_GE(taken[1], kTrial / 3);  // but do not end
}

TEST(Ways, NothingIsPulledWhereThatIsNotPossible) {
  Ways ways = started(Way::kMirror, false);
  EXPECT_EQ(make_calls(ways, {100, 90, 1}, 10'000)[2], 0U);
  EXPECT_EQ(ways.best(), Way::kMirror);
  make_calls(ways, {100, 50, 1}, 10'000);
  EXPECT_EQ(ways.best(), Way::kStream);
}

// Spikes: of each row one call but the first takes a thousand times as long, except in one.
TEST(Ways, TheFastestRowCounts) {
  Ways ways = started(Way::kMirror);
  (void)make_calls(ways, {}, Ways::kWarmUps);
  constexpr uint32_t kRow = Ways::Effort{}.calls;
  for (uint32_t i = 0; i < kTrial; ++i) {
    const Ways::Turn turn = ways.next();
    const uint64_t cost = turn.way == Way::kPull ? 50 : 100;
    const bool is_spike = i % kRow == 1 && i / kRow < 3;  // the first round of rows
    ways.took(is_spike ? cost * 1000 : cost);
  }
  EXPECT_EQ(ways.best(), Way::kPull);
}

// Whoever was never alone is as good as not tried; and if that is the best so far, it stays.
TEST(Ways, WhatIsUnknownNeitherWinsNorLoses) {
  Ways ways = started(Way::kMirror);
  make_calls(ways, {100, 80, Ways::kUnknown}, Ways::kWarmUps + kTrial);
  EXPECT_EQ(ways.best(), Way::kStream);
  make_calls(ways, {10, Ways::kUnknown, 20}, 10'000);
  EXPECT_EQ(ways.best(), Way::kStream);
}

TEST(Ways, LongCallsAreTriedLess) {
  Ways ways;
  ways.start(Way::kMirror, true, Ways::kLittle);
  constexpr uint32_t kCalls = 3 * Ways::kLittle.calls * Ways::kLittle.rows;
  make_calls(ways, {100, 50, 100}, Ways::kWarmUps + kCalls);
  EXPECT_EQ(ways.best(), Way::kStream);
}

}  // namespace
}  // namespace tutti::engine
