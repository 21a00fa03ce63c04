#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/plan/expect_proved.h"

namespace tutti::plan {
namespace {

using ir::StepKind;

constexpr std::string_view kAllGathers[] = {"ring", "recursive_doubling", "bruck",
                                            "neighbor_exchange", "direct"};
constexpr uint64_t kGatherAlpha = 1000;
constexpr uint64_t kGatherBeta = 7;

ir::Schedule all_gather(std::string_view algorithm, uint32_t p, const Options& options = {}) {
  return make({.kind = CollectiveKind::kAllGather, .num_ranks = p}, algorithm, options).value();
}

TEST(AllGather, IsProvedAndRightForAnyRanks) {
  for (const uint32_t p : rank_counts()) {
    for (const std::string_view algorithm : kAllGathers) {
      expect_proved_and_right(all_gather(algorithm, p));
    }
    for (const uint32_t chunks : {2u, 5u}) {
      expect_proved_and_right(all_gather("ring", p, {.chunks = chunks}));
    }
  }
}

TEST(AllGather, OfOneRankIsACopy) {
  for (const std::string_view algorithm : kAllGathers) {
    const ir::Schedule schedule = all_gather(algorithm, 1);
    ASSERT_EQ(ir::num_steps(schedule), 1u) << algorithm;
    EXPECT_EQ(schedule.step(Rank{0}, {0, 0}).kind, StepKind::kCopy);
  }
}

TEST(AllGather, NeedsNoScratchAndBringsEveryBlockToEveryRankOnce) {
  for (const uint32_t p : rank_counts()) {
    for (const std::string_view algorithm : kAllGathers) {
      const ir::Schedule schedule = all_gather(algorithm, p);
      EXPECT_EQ(max_scratch(schedule), 0u) << algorithm;
      for (uint32_t r = 0; r < p; ++r) {
        std::vector<uint32_t> writes(p, 0);
        for (const ir::Step* step : all_steps(schedule.ranks[r])) {
          for (uint32_t i = 0; ir::writes_dst(step->kind) && i < step->num_chunks; ++i) {
            ++writes[step->dst_index + i];
          }
        }
        EXPECT_THAT(writes, testing::Each(1u)) << algorithm << " rank " << r << " of " << p;
      }
    }
  }
}

TEST(AllGatherRing, TakesOneRoundARankAndTalksToNeighboursOnly) {
  for (const uint32_t p : rank_counts()) {
    const ir::Schedule schedule = all_gather("ring", p);
    EXPECT_EQ(lending_time(schedule, kGatherAlpha, kGatherBeta),
              (p - 1) * (kGatherAlpha + kGatherBeta));
    for (uint32_t r = 0; r < p; ++r) {
      for (const ir::Step* step : all_steps(schedule.ranks[r])) {
        const bool is_right = !ir::sends(step->kind) || step->send_peer == Rank{(r + 1) % p};
        EXPECT_TRUE(is_right) << r << " of " << p;
      }
    }
  }
}

TEST(AllGatherRing, GivesEachPieceALaneAndAChannelOfItsOwn) {
  const ir::Schedule schedule = all_gather("ring", 5, {.chunks = 3});
  EXPECT_EQ(schedule.chunks_per_block, 3u);
  for (const ir::RankProgram& program : schedule.ranks) {
    ASSERT_EQ(program.lanes.size(), 4u);  // the fourth copies the own block
    for (uint32_t piece = 0; piece < 3; ++piece) {
      EXPECT_EQ(program.lanes[piece].channel, piece);
      EXPECT_EQ(program.lanes[piece].steps.size(), 5u);
    }
  }
}

TEST(AllGatherRing, RefusesMoreChunksThanCanBeNumbered) {
  const auto refused = make({.kind = CollectiveKind::kAllGather, .num_ranks = 1u << 17}, "ring",
                            {.chunks = 1u << 16});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("2^32 - 2"));
}

TEST(AllGatherRecursiveDoubling, TakesLog2RoundsForPowersOfTwo) {
  for (const uint32_t p : {2u, 4u, 8u, 16u, 32u, 64u}) {
    EXPECT_EQ(lending_time(all_gather("recursive_doubling", p), kGatherAlpha, kGatherBeta),
              ceil_log2(p) * kGatherAlpha + (p - 1) * kGatherBeta);
  }
}

TEST(AllGatherRecursiveDoubling, TakesAsManyRoundsAsTheNextPowerOfTwo) {
  for (uint32_t p = 2; p <= 70; ++p) {
    const ir::Schedule schedule = all_gather("recursive_doubling", p);
    EXPECT_EQ(lending_time(schedule, 1, 0), ceil_log2(p)) << p;
    for (uint32_t r = 0; r < p; ++r) EXPECT_LE(16 * chunks_sent(schedule, r), 25 * p) << p;
  }
}

TEST(AllGatherBruck, TakesCeilLog2RoundsForAnyRanks) {
  for (const uint32_t p : rank_counts()) {
    EXPECT_EQ(lending_time(all_gather("bruck", p), kGatherAlpha, 0), ceil_log2(p) * kGatherAlpha)
        << p;
  }
}

TEST(AllGatherBruck, SendsEveryRankTheSameNumberOfBlocks) {
  for (const uint32_t p : rank_counts()) {
    const ir::Schedule schedule = all_gather("bruck", p);
    for (uint32_t r = 0; r < p; ++r) EXPECT_EQ(chunks_sent(schedule, r), p - 1) << p;
  }
}

TEST(AllGatherBruck, CutsAMessageInTwoOnlyWhereItWraps) {
  // Of 8 ranks, rank 0 sends blocks 0, then 0-1, then 0-3; rank 7 sends 7, then 7 0, then 7 0-2.
  const ir::Schedule schedule = all_gather("bruck", 8);
  EXPECT_EQ(num_messages_sent(schedule.ranks[0]), 3u);
  EXPECT_EQ(num_messages_sent(schedule.ranks[7]), 5u);
}

TEST(AllGatherNeighborExchange, TakesHalfTheRoundsOfARing) {
  for (const uint32_t p : rank_counts()) {
    if (p == 1) continue;
    const uint64_t expected =
        p % 2 == 0 ? (kGatherAlpha + kGatherBeta) + (p / 2 - 1) * (kGatherAlpha + 2 * kGatherBeta)
                   : (p - 1) / 2 * (kGatherAlpha + kGatherBeta);
    EXPECT_EQ(lending_time(all_gather("neighbor_exchange", p), kGatherAlpha, kGatherBeta), expected)
        << p;
  }
}

TEST(AllGatherNeighborExchange, TalksToNeighboursOnlyAndSendsEveryBlockOnce) {
  for (const uint32_t p : rank_counts()) {
    const ir::Schedule schedule = all_gather("neighbor_exchange", p);
    for (uint32_t r = 0; p > 1 && r < p; ++r) {
      EXPECT_EQ(chunks_sent(schedule, r), p - 1) << p;
      for (const ir::Step* step : all_steps(schedule.ranks[r])) {
        if (!ir::sends(step->kind)) continue;
        EXPECT_THAT(step->send_peer.value, testing::AnyOf((r + 1) % p, (r + p - 1) % p));
      }
    }
  }
}

TEST(AllGatherDirect, SendsToEveryoneAtOnceEachInItsOwnLane) {
  const ir::Schedule schedule = all_gather("direct", 7);
  EXPECT_EQ(lending_time(schedule, kGatherAlpha, kGatherBeta), kGatherAlpha + kGatherBeta);
  for (uint32_t r = 0; r < 7; ++r) {
    std::set<uint32_t> peers;
    EXPECT_EQ(schedule.ranks[r].lanes.size(), 7u);
    for (const ir::Lane& lane : schedule.ranks[r].lanes) {
      if (lane.steps[0].kind == StepKind::kSend) peers.insert(lane.steps[0].send_peer.value);
    }
    EXPECT_EQ(peers.size(), 6u);
  }
}

}  // namespace
}  // namespace tutti::plan
