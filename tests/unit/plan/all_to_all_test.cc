#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/plan/expect_proved.h"

namespace tutti::plan {
namespace {

using ir::StepKind;

constexpr std::string_view kAllToAlls[] = {"pairwise", "bruck", "two_level"};
constexpr uint64_t kExchangeAlpha = 1000;
constexpr uint64_t kExchangeBeta = 7;

ir::Schedule all_to_all(std::string_view algorithm, uint32_t p, const Options& options = {}) {
  return make({.kind = CollectiveKind::kAllToAll, .num_ranks = p}, algorithm, options).value();
}

TEST(AllToAll, IsProvedAndRightForAnyRanks) {
  for (const uint32_t p : rank_counts()) {
    for (const std::string_view algorithm : kAllToAlls) {
      expect_proved_and_right(all_to_all(algorithm, p));
    }
  }
}

TEST(AllToAll, OfOneRankIsACopy) {
  for (const std::string_view algorithm : kAllToAlls) {
    const ir::Schedule schedule = all_to_all(algorithm, 1);
    ASSERT_EQ(ir::num_steps(schedule), 1u) << algorithm;
    EXPECT_EQ(schedule.step(Rank{0}, {0, 0}).kind, StepKind::kCopy);
  }
}

TEST(AllToAll, IsOutOfPlaceOnly) {
  for (const std::string_view algorithm : kAllToAlls) {
    EXPECT_EQ(all_to_all(algorithm, 4).placement, ir::Placement::kOutOfPlace);
  }
}

TEST(AllToAll, SizesScratchByTheChunkThatLiesThere) {
  for (const std::string_view algorithm : {"bruck", "two_level"}) {
    for (const ir::RankProgram& program : all_to_all(algorithm, 12).ranks) {
      EXPECT_THAT(program.scratch, testing::Not(testing::IsEmpty()));
      EXPECT_THAT(program.scratch, testing::Not(testing::Contains(ir::kAnyChunk)));
    }
  }
}

TEST(AllToAllPairwise, TakesOneRoundARankInStep) {
  for (const uint32_t p : rank_counts()) {
    const ir::Schedule schedule = all_to_all("pairwise", p);
    EXPECT_EQ(lending_time(schedule, kExchangeAlpha, kExchangeBeta),
              (p - 1) * (kExchangeAlpha + kExchangeBeta));
    EXPECT_EQ(max_scratch(schedule), 0u);
    for (uint32_t r = 0; p > 1 && r < p; ++r) {
      const auto& steps = schedule.ranks[r].lanes[1].steps;
      for (uint32_t i = 2; i < steps.size(); i += 2) {
        ASSERT_EQ(steps[i].kind, StepKind::kSend);
        EXPECT_THAT(schedule.ranks[r].deps_of(steps[i]),
                    testing::ElementsAre(ir::StepRef{1, i - 2}));
      }
    }
  }
}

TEST(AllToAllBruck, IsProvedAndRightForAnyRadix) {
  for (const uint32_t p : {2u, 3u, 4u, 7u, 8u, 9u, 12u, 16u, 17u}) {
    for (const uint32_t radix : {2u, 3u, 4u, 5u, 16u, 1000u, UINT32_MAX}) {
      expect_proved_and_right(all_to_all("bruck", p, {.radix = radix}));
    }
  }
  for (const uint32_t radix : {3u, 8u, 64u}) {
    expect_proved(all_to_all("bruck", 64, {.radix = radix}));
  }
}

TEST(AllToAllBruck, TakesOneRoundADigit) {
  for (const uint32_t p : rank_counts()) {
    EXPECT_EQ(lending_time(all_to_all("bruck", p), kExchangeAlpha, 0),
              ceil_log2(p) * kExchangeAlpha)
        << p;
  }
  EXPECT_EQ(lending_time(all_to_all("bruck", 27, {.radix = 3}), kExchangeAlpha, kExchangeBeta),
            3 * 2 * (kExchangeAlpha + 9 * kExchangeBeta));
  EXPECT_EQ(lending_time(all_to_all("bruck", 64, {.radix = 8}), kExchangeAlpha, kExchangeBeta),
            2 * 7 * (kExchangeAlpha + 8 * kExchangeBeta));
}

TEST(AllToAllBruck, MovesABlockOnceForEachDigitOfItsDistanceThatIsNotZero) {
  for (const uint32_t p : {2u, 6u, 13u, 32u}) {
    uint64_t moves = 0;
    for (uint32_t offset = 1; offset < p; ++offset) {
      moves += static_cast<uint64_t>(std::popcount(offset));
    }
    const ir::Schedule schedule = all_to_all("bruck", p);
    for (uint32_t r = 0; r < p; ++r) EXPECT_EQ(chunks_sent(schedule, r), moves) << p;
  }
}

TEST(AllToAllBruck, CopiesEachBlockAboutTwice) {
  const ir::Schedule schedule = all_to_all("bruck", 64);
  for (const ir::RankProgram& program : schedule.ranks) {
    uint32_t copies = 0;
    for (const ir::Step* step : all_steps(program)) copies += step->kind == StepKind::kCopy ? 1 : 0;
    EXPECT_LE(copies, 2u * 64);
  }
}

TEST(AllToAllBruck, WithRadixOfAllRanksSendsEveryBlockStraight) {
  const ir::Schedule schedule = all_to_all("bruck", 9, {.radix = 9});
  EXPECT_EQ(max_scratch(schedule), 0u);
  for (uint32_t r = 0; r < 9; ++r) EXPECT_EQ(chunks_sent(schedule, r), 8u);
  EXPECT_EQ(schedule, all_to_all("bruck", 9, {.radix = 500}));
}

TEST(AllToAllBruck, RefusesARadixWithoutDigits) {
  const auto refused =
      make({.kind = CollectiveKind::kAllToAll, .num_ranks = 4}, "bruck", {.radix = 1});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.error().message, "all_to_all bruck: radix 1 has no digits; take 2 or more");
}

TEST(AllToAllTwoLevel, IsProvedAndRightForAnyGroupSize) {
  for (uint32_t p = 1; p <= 14; ++p) {
    for (uint32_t g = 1; g <= p; ++g) {
      expect_proved_and_right(all_to_all("two_level", p, {.group_size = g}));
    }
  }
  for (const uint32_t g : {1u, 7u, 8u, 40u, 64u}) {
    expect_proved(all_to_all("two_level", 64, {.group_size = g}));
  }
}

TEST(AllToAllTwoLevel, SendsOneMessageToEachNodeAndOneToEachNeighbour) {
  const ir::Schedule schedule = all_to_all("two_level", 24, {.group_size = 6});
  for (uint32_t r = 0; r < 24; ++r) {
    uint32_t across = 0;
    uint32_t inside = 0;
    for (const ir::Step* step : all_steps(schedule.ranks[r])) {
      if (!ir::sends(step->kind)) continue;
      const bool is_inside = step->send_peer.value / 6 == r / 6;
      EXPECT_EQ(step->num_chunks, is_inside ? 4u : 6u);
      ++(is_inside ? inside : across);
    }
    EXPECT_EQ(across, 3u);
    EXPECT_EQ(inside, 5u);
  }
}

TEST(AllToAllTwoLevel, TakesTheRoundsOfItsLevels) {
  for (const uint32_t g : {1u, 2u, 6u}) {
    for (const uint32_t n : {1u, 3u, 4u}) {
      EXPECT_EQ(lending_time(all_to_all("two_level", g * n, {.group_size = g}), kExchangeAlpha,
                             kExchangeBeta),
                (n - 1) * (kExchangeAlpha + g * kExchangeBeta) +
                    (g - 1) * (kExchangeAlpha + n * kExchangeBeta))
          << n << " nodes of " << g;
    }
  }
}

TEST(AllToAllTwoLevel, RefusesAGroupLargerThanAllRanks) {
  const auto refused =
      make({.kind = CollectiveKind::kAllToAll, .num_ranks = 4}, "two_level", {.group_size = 9});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace tutti::plan
