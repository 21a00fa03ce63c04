// Who runs when, in whole engines: the agreed order, bounded switching, no starving, and an ear for
// the caller that waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>

#include "engine/cpu/ports.h"
#include "tests/support/any_order.h"
#include "tests/support/sanitized.h"

namespace tutti::test {
namespace {

using engine::BoundProgram;
using engine::kPreemptAlways;
using engine::kTileBytes;
using engine::Operation;
using engine::OperationState;

uint64_t tiles(uint64_t bytes) { return (bytes + kTileBytes - 1) / kTileBytes; }

// The turns that can move an operation: a tile or a step each, and one that ends it.
uint64_t most_turns(const BoundProgram& program) {
  uint64_t turns = 1;
  for (const engine::ProgramStep& step : program.steps) {
    uint64_t of_step = 0;
    for (uint32_t i = 0; i < step.num_pieces; ++i) {
      of_step += tiles(program.pieces[step.first_piece + i].bytes);
    }
    if (step.exported != engine::kNoLink) of_step += tiles(program.exports[step.exported].bytes);
    turns += std::max<uint64_t>(of_step, 1);
  }
  return turns;
}

TEST(Scheduling, SwitchesOfAnOperationAreBoundedByItsProgram) {
  for (uint64_t seed = 1; seed <= (kSanitized ? 5 : 20); ++seed) {
    AnyOrder run(4, seed);
    for (int copies = 0; copies < 3; ++copies) {
      for (const auto& spec : mixed_collectives()) run.add(spec, first_ranks(4));
    }
    run.shuffle();
    ASSERT_EQ(run.run(), 0u) << "seed " << seed;
    for (uint32_t r = 0; r < 4; ++r) {
      uint64_t sum = 0;
      uint64_t most = 0;
      for (const Operation* const op : run.works(r)) {
        if (op == nullptr) continue;
        ASSERT_LE(op->switches, most_turns(*op->request.program)) << "seed " << seed;
        sum += op->switches;
        most = std::max<uint64_t>(most, op->switches);
      }
      const engine::EngineCounts counts = run.cluster().engine(r).counts();
      EXPECT_EQ(counts.switches, sum);
      EXPECT_EQ(counts.most_switches, most);
      EXPECT_GT(sum, 0u);
    }
  }
}

// A member's place in the order needs no message but those that say that it was issued.
TEST(Scheduling, AllRanksAgreeOnTheOrder) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    AnyOrder run(5, seed);
    for (uint64_t i = 0; i < 30; ++i) {
      run.add({CollectiveKind::kAllReduce, "ring", 2000 + i}, first_ranks(5));
    }
    run.shuffle();
    ASSERT_EQ(run.run(), 0u) << "seed " << seed;
    std::vector<std::pair<uint64_t, uint32_t>> agreed;
    for (uint32_t r = 0; r < 5; ++r) {
      std::vector<std::pair<uint64_t, uint32_t>> here;
      for (const Operation* const op : run.works(r)) {
        if (op == nullptr) continue;
        EXPECT_TRUE(op->is_agreed);
        here.emplace_back(op->request.id, op->stamp);
      }
      std::sort(here.begin(), here.end());
      if (r == 0) agreed = here;
      ASSERT_EQ(here, agreed) << "seed " << seed << " rank " << r;
    }
  }
}

// Pairs of collectives that did not end in the same order on all ranks.
size_t num_discordant(const AnyOrder& run, uint32_t num_ranks, size_t num_collectives) {
  size_t pairs = 0;
  for (size_t a = 0; a < num_collectives; ++a) {
    for (size_t b = 0; b < a; ++b) {
      uint32_t a_first = 0;
      for (uint32_t r = 0; r < num_ranks; ++r) {
        const std::vector<size_t>& ended = run.ended(r);
        const auto both =
            std::find_if(ended.begin(), ended.end(), [&](size_t c) { return c == a || c == b; });
        a_first += *both == a ? 1 : 0;
      }
      pairs += a_first != 0 && a_first != num_ranks ? 1 : 0;
    }
  }
  return pairs;
}

// Without the agreed order it is 45 pairs of 120.
TEST(Scheduling, RanksEndWhatTheyIssuedInDifferentOrdersNearlyInOne) {
  constexpr size_t kNum = 16;
  size_t discordant = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    AnyOrder run(4, seed);
    for (uint64_t i = 0; i < kNum; ++i) {
      run.add({CollectiveKind::kAllReduce, "ring", 4000 + i}, first_ranks(4));
    }
    run.shuffle();
    run.issue_all();
    ASSERT_EQ(run.run(), 0u) << "seed " << seed;
    discordant += num_discordant(run, 4, kNum);
  }
  EXPECT_LT(discordant / 10, 30u);
}

// Two ranks that issue broadcasts, most of them large, and take turns.
class TwoRanks {
 public:
  static constexpr uint64_t kLargeBytes = 16 * kTileBytes;

  TwoRanks(uint32_t num_large, uint64_t last_bytes) {
    for (uint32_t i = 0; i <= num_large; ++i) {
      const uint64_t bytes = i < num_large ? kLargeBytes : last_bytes;
      collectives_.emplace_back(
          TestCollective::Spec{CollectiveKind::kBroadcast, "direct", bytes / sizeof(int64_t)},
          i + 1, first_ranks(2));
    }
    for (uint32_t r = 0; r < 2; ++r) {
      for (TestCollective& collective : collectives_) {
        works_[r].push_back(cluster_.engine(r).submit(collective.request(r)).value());
      }
    }
  }
  // How many turns each rank has until the last broadcast is over on both.
  uint32_t turns_until_last(bool is_waited_for) {
    const auto is_done = [](const std::vector<Operation*>& works) {
      return works.back()->state.load() == OperationState::kDone;
    };
    uint32_t turns = 0;
    for (; !(is_done(works_[0]) && is_done(works_[1])) && turns < 10'000; ++turns) {
      for (uint32_t r = 0; r < 2; ++r) {
        cluster_.engine(r).progress(is_waited_for ? works_[r].back() : nullptr);
      }
    }
    EXPECT_EQ(collectives_.back().difference(), "");
    return turns;
  }
  void run() {
    for (bool moved = true; moved;) {
      const bool sender_moved = cluster_.engine(0).progress();
      moved = cluster_.engine(1).progress() || sender_moved;
    }
  }
  [[nodiscard]] const std::vector<Operation*>& received() const { return works_[1]; }

 private:
  Cluster cluster_{2};
  std::deque<TestCollective> collectives_;
  std::array<std::vector<Operation*>, 2> works_;
};

TEST(Scheduling, LargeOperationsKeepTheTurn) {
  TwoRanks ranks(4, TwoRanks::kLargeBytes);
  ranks.run();
  for (const Operation* const op : ranks.received()) {
    ASSERT_EQ(op->state.load(), OperationState::kDone);
    // Eight tiles a tenure; it may have been halved thrice before its sender was heard of. Where
    // every point is taken a tenure is one tile.
    EXPECT_LE(op->switches, kPreemptAlways ? 16u : 16u / 8 + 3);
  }
}

TEST(Scheduling, ASmallOperationBehindLargeOnesDoesNotStarve) {
  TwoRanks ranks(6, 8192 * sizeof(int64_t));
  // A cycle of the queue: two tenures of eight turns for each task.
  EXPECT_LE(ranks.turns_until_last(false), 2u * 7 * 8);
}

TEST(Scheduling, WhatTheCallerWaitsForComesFirst) {
  const uint64_t bytes = 4 * kTileBytes;
  TwoRanks patient(6, bytes);
  TwoRanks waiting(6, bytes);
  EXPECT_LT(2 * waiting.turns_until_last(true), patient.turns_until_last(false));
}

}  // namespace
}  // namespace tutti::test
