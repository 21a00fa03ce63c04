// Operations that come to a few passes over memory: which do, and that those are right, whether
// they are over at once or go on as any other.
#include "engine/cuda/passes.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/cuda/watch.h"
#include "tests/support/daemon_ranks.h"
#include "tests/support/sanitized.h"
#include "tests/unit/cuda/daemon_calls.h"

namespace tutti::test {
namespace {

using engine::cuda::Daemon;
using engine::cuda::DaemonOptions;
using engine::cuda::Outcome;
using engine::cuda::Passes;

// Who calls first waits for all others, however late.
constexpr DaemonOptions kPatient{.num_workers = 1, .presence = {.meet_ns = 60'000'000'000}};

// More than a letter holds, and too little for several blocks.
constexpr uint64_t kElems = 1003;

// "sources to destinations" of each pass of a rank; "none" if it has no passes.
std::string shape_of(CollectiveKind kind, std::string_view algorithm, uint32_t rank) {
  constexpr uint32_t kRanks = 4;
  const auto fused = fuse_programs({kind, kRanks, 0, 0}, kElems, algorithm);
  const auto passes = engine::cuda::passes_of(fused[rank]);
  if (!passes) return "none";
  std::string out;
  for (const engine::cuda::Pass& pass : passes->passes) {
    out += std::to_string(pass.num_sources) + " to " + std::to_string(pass.num_dsts) + "; ";
  }
  return out;
}

TEST(Passes, AreFoundWhereAllThatIsReadIsInput) {
  EXPECT_EQ(shape_of(CollectiveKind::kAllReduce, "pull", 1), "4 to 4; ");
  EXPECT_EQ(shape_of(CollectiveKind::kAllReduce, "pull_all", 1), "4 to 1; ");
  EXPECT_EQ(shape_of(CollectiveKind::kReduceScatter, "pull", 1), "4 to 1; ");
  EXPECT_EQ(shape_of(CollectiveKind::kReduce, "spread", 0), "4 to 1; ");
  EXPECT_EQ(shape_of(CollectiveKind::kReduce, "spread", 1), "4 to 1; ");
  EXPECT_EQ(shape_of(CollectiveKind::kAllToAll, "direct", 1), "1 to 1; 1 to 1; 1 to 1; 1 to 1; ");
}

TEST(Passes, AreNotFoundWhereAStepWaitsForWhatAnotherRankMakes) {
  for (const std::string_view algorithm : {"ring", "recursive_doubling"}) {
    EXPECT_EQ(shape_of(CollectiveKind::kAllReduce, algorithm, 1), "none") << algorithm;
  }
}

TEST(Passes, AreForOneBlockOfAllRanksOrOfNone) {
  for (const uint64_t elems : {20ul, 1003ul, 60'000ul, 1'000'000ul}) {
    for (const std::string_view algorithm : {"pull", "ring"}) {
      const auto fused = fuse_programs({CollectiveKind::kAllReduce, 4, 0, 0}, elems, algorithm);
      const bool is_narrow = algorithm == "pull" && elems != 1'000'000;
      for (const auto& rank : fused) {
        EXPECT_EQ(rank.is_narrow, is_narrow) << elems << " by " << algorithm;
      }
    }
  }
}

// What is waited for in all, and told in all, are the same.
TEST(Passes, EveryWordThatIsAwaitedIsToldBySomebody) {
  for (const std::string_view algorithm : {"pull", "pull_all"}) {
    const auto fused = fuse_programs({CollectiveKind::kAllReduce, 4, 0, 0}, kElems, algorithm);
    std::vector<std::vector<uint32_t>> told;
    std::vector<Passes> all;
    for (const auto& rank : fused) {
      all.push_back(*engine::cuda::passes_of(rank));
      told.emplace_back(all.back().awaited.size());
    }
    for (const Passes& of_rank : all) {
      for (const auto& notice : of_rank.notices) told[notice.member][notice.word] = notice.number;
    }
    for (size_t r = 0; r < all.size(); ++r) EXPECT_EQ(told[r], all[r].awaited) << algorithm;
  }
}

TEST(Passes, EveryCollectiveOfAFewPassesIsOverAtOnceAndExact) {
  for (const uint32_t n : {1u, 2u, 3u, 8u}) {
    DaemonRanks ranks(n, kPatient);
    uint32_t num = 0;
    const auto add = [&](const TestCollective::Spec& spec) {
      ranks.add(spec, first_ranks(n));
      ++num;
    };
    for (const bool in_place : {false, true}) {
      add({CollectiveKind::kAllReduce, "pull", kElems, 0, in_place});
      add({CollectiveKind::kBroadcast, "spread", kElems, n / 2, in_place});
      add({CollectiveKind::kReduce, "spread", kElems, n / 2, in_place});
    }
    add({CollectiveKind::kAllReduce, "pull_all", kElems});
    add({CollectiveKind::kReduceScatter, "pull", kElems});
    add({CollectiveKind::kAllToAll, "direct", kElems});
    add({CollectiveKind::kAllGather, "direct", kElems});
    ASSERT_EQ(ranks.run(), "") << n << " ranks";
    ASSERT_EQ(ranks.difference(), "") << n << " ranks";
    for (uint32_t r = 0; r < n; ++r) {
      ranks.daemon(r).leave();
      EXPECT_EQ(ranks.daemon(r).state()->leader.num_at_once, num) << r << " of " << n;
    }
  }
}

TEST(Passes, AveragesAndScaledSumsAreRight) {
  for (const std::string_view algorithm : {"pull", "pull_all"}) {
    for (const Op op : {Op::kAvg, Op::kPremulSum, Op::kMax}) {
      Calls calls(3, kElems, 1, kPatient, algorithm);
      std::vector<Daemon::Ticket> tickets;
      for (uint32_t r = 0; r < 3; ++r) {
        auto request = calls.request(r, 0);
        request.signature.op = static_cast<uint8_t>(op);
        request.factor = 2;
        tickets.push_back(calls.submit(r, request));
      }
      for (uint32_t r = 0; r < 3; ++r) {
        ASSERT_EQ(outcome_of(calls.wait(r, tickets[r])), Outcome::kDone);
      }
      // Inputs are twice, three and four times the index.
      const int64_t factor = op == Op::kAvg ? 9 / 3 : op == Op::kMax ? 4 : 9 * 2;
      for (uint32_t r = 0; r < 3; ++r) {
        for (uint64_t i = 0; i < kElems; ++i) {
          ASSERT_EQ(calls.output(r)[i], static_cast<int64_t>(i) * factor) << algorithm << i;
        }
        calls.daemon(r).leave();
        EXPECT_EQ(calls.daemon(r).state()->leader.num_at_once, 1u);
      }
    }
  }
}

// Parts of several blocks; one of each rank may be faster than those of the others, and is then
// done as any other.
TEST(Passes, WorkersPassOverWhatTheirLeaderHasWrittenDown) {
  constexpr size_t kCalls = kSanitized ? 6 : 20;
  constexpr uint32_t kRanks = 3;
  for (const Op op : {Op::kSum, Op::kAvg, Op::kPremulSum}) {
    // Workers that are called come, and stay, on whatever machine.
    constexpr uint64_t kLong = 60'000'000'000;
    DaemonOptions options = kPatient;
    options.num_workers = 3;
    options.presence.linger_ns = options.presence.stay_ns = kLong;
    options.presence.workers_linger_ns = options.presence.patience_ns = kLong;
    options.presence.standstill_ns = kLong;
    Calls calls(kRanks, 150'001, kCalls, options, "pull");
    std::vector<std::thread> threads;
    for (uint32_t r = 0; r < kRanks; ++r) {
      threads.emplace_back([&calls, op, r] {
        for (size_t call = 0; call < kCalls; ++call) {
          auto request = calls.request(r, call);
          request.signature.op = static_cast<uint8_t>(op);
          request.factor = 2;
          const auto ticket = calls.submit(r, request);
          EXPECT_EQ(outcome_of(calls.daemon(r).wait(ticket, kForEver)), Outcome::kDone);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    const int64_t factor = op == Op::kSum ? 9 : op == Op::kAvg ? 9 / 3 : 9 * 2;
    for (uint32_t r = 0; r < kRanks; ++r) {
      const std::vector<int64_t>& output = calls.output(r);
      for (size_t i = 0; i < output.size(); ++i) {
        ASSERT_EQ(output[i], static_cast<int64_t>(i) * factor) << r << " " << i;
      }
      calls.daemon(r).leave();
      // Not before the workers have come.
      EXPECT_GT(calls.daemon(r).state()->leader.num_at_once, 0u);
    }
  }
}

// In place, where to move anything twice would be wrong. The one that has called first goes on as
// any other, and its daemon leaves as soon as it has told the rest; so they move all that is
// theirs, and wait for it in vain.
TEST(Passes, WhoHasMovedAndIsNotAnsweredMovesNothingAgain) {
  constexpr uint32_t kRanks = 3;
  Calls calls(
      kRanks, kElems, 1,
      {.num_workers = 1,
       .presence = {.linger_ns = 1, .stay_ns = 1, .meet_ns = kSanitized ? 4'000'000 : 400'000}},
      "pull");
  std::vector<Daemon::Ticket> tickets;
  for (uint32_t r = 0; r < kRanks; ++r) {
    auto request = calls.request(r, 0);
    std::memcpy(request.output, request.input, kElems * sizeof(int64_t));
    request.input = request.output;
    tickets.push_back(calls.submit(r, request));
    // Whoever is alone gives up; the last one finds the letters of all. Where each looks for those
    // of this rank:
    const engine::cuda::Front& front = *calls.daemon((r + 1) % kRanks).front();
    const engine::cuda::Unit* const letter = front.doors[r].letters;
    // Liveness: the daemon was launched, and writes to all members at once.
    while (engine::cuda::load_unit(letter).words[3] != 1) std::this_thread::yield();
    calls.daemon(r).leave();
  }
  const auto& last = calls.daemon(kRanks - 1).state()->leader;
  EXPECT_EQ(last.num_at_once, 0u);
  EXPECT_EQ(last.num_vain_at_once, 1u);
  for (uint32_t r = 0; r < kRanks; ++r) {
    ASSERT_EQ(outcome_of(calls.wait(r, tickets[r])), Outcome::kDone);
  }
  EXPECT_TRUE(calls.is_right(0));
}

// Some meet, some come too late, daemons leave in the middle, and what is over is used again.
TEST(Passes, CallsThatMeetOrDoNotAreRight) {
  constexpr size_t kCalls = kSanitized ? 40 : 200;
  for (const uint64_t meet_ns : {0ul, 3'000ul, 50'000ul}) {
    DaemonOptions options = kRestless;
    options.presence.meet_ns = meet_ns;
    constexpr uint32_t kRanks = 4;
    Calls calls(kRanks, 37, kCalls, options, "pull");
    std::vector<std::thread> threads;
    for (uint32_t r = 0; r < kRanks; ++r) {
      threads.emplace_back([&calls, r] {
        for (size_t call = 0; call < kCalls; ++call) {
          const auto ticket = calls.submit(r, calls.request(r, call));
          EXPECT_EQ(outcome_of(calls.daemon(r).wait(ticket, kForEver)), Outcome::kDone);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (size_t call = 0; call < kCalls; ++call) ASSERT_TRUE(calls.is_right(call)) << call;
  }
}

}  // namespace
}  // namespace tutti::test
