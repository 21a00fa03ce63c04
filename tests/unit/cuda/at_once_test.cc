// Small operations that are over at once, and those that were tried so and go on as any other.
#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/cuda/letters.h"
#include "engine/cuda/stream.h"
#include "engine/cuda/watch.h"
#include "tests/support/sanitized.h"
#include "tests/unit/cuda/daemon_calls.h"

namespace tutti::test {
namespace {

using engine::cuda::Daemon;
using engine::cuda::DaemonOptions;
using engine::cuda::Outcome;

// Who calls first waits for all others, however late.
constexpr DaemonOptions kPatient{.num_workers = 1, .presence = {.meet_ns = 60'000'000'000}};
constexpr DaemonOptions kHasty{.num_workers = 1, .presence = {.meet_ns = 0}};

uint32_t num_at_once(Calls& calls, uint32_t rank) {
  calls.daemon(rank).leave();
  return calls.daemon(rank).state()->leader.num_at_once;
}

void call_one_by_one(Calls& calls, uint32_t num_ranks, size_t num_calls) {
  for (size_t call = 0; call < num_calls; ++call) {
    std::vector<Daemon::Ticket> tickets;
    for (uint32_t r = 0; r < num_ranks; ++r) {
      tickets.push_back(calls.submit(r, calls.request(r, call)));
    }
    for (uint32_t r = 0; r < num_ranks; ++r) {
      ASSERT_EQ(outcome_of(calls.wait(r, tickets[r])), Outcome::kDone);
    }
    ASSERT_TRUE(calls.is_right(call)) << call;
  }
}

// More letters than a mailbox has room for.
TEST(AtOnce, WhoCallsFirstIsDoneWhenAllOthersHaveCalled) {
  constexpr size_t kCalls = 2 * engine::cuda::kLetters + 3;
  for (const uint32_t n : {1u, 2u, 3u, 8u}) {
    Calls calls(n, 1 + n % 5, kCalls, kPatient, "pull_all");
    call_one_by_one(calls, n, kCalls);
    EXPECT_EQ(num_at_once(calls, 0), kCalls) << n << " ranks";
  }
}

TEST(AtOnce, WhoFindsNobodyGoesOnAsAnyOther) {
  constexpr size_t kCalls = 100;
  for (const uint32_t n : {2u, 3u, 5u}) {
    Calls calls(n, 3, kCalls, kHasty, "pull_all");
    call_one_by_one(calls, n, kCalls);
  }
}

// Whose steps wait for each other.
TEST(AtOnce, WhatIsNotAFewPassesIsNotTried) {
  Calls calls(3, 15, 3, kPatient, "ring");
  call_one_by_one(calls, 3, 3);
  EXPECT_EQ(num_at_once(calls, 0), 0u);
}

TEST(AtOnce, RanksThatCallInOppositeOrdersAreRight) {
  constexpr size_t kCalls = kSanitized ? 60 : 300;
  Calls calls(2, 2, kCalls, {.num_workers = 1, .presence = {}}, "pull_all");
  std::vector<std::thread> threads;
  for (uint32_t r = 0; r < 2; ++r) {
    threads.emplace_back([&calls, r] {
      for (size_t pair = 0; pair < kCalls; pair += 2) {
        const auto first = calls.submit(r, calls.request(r, pair + r));
        const auto second = calls.submit(r, calls.request(r, pair + 1 - r));
        EXPECT_EQ(outcome_of(calls.daemon(r).wait(first, kForEver)), Outcome::kDone);
        EXPECT_EQ(outcome_of(calls.daemon(r).wait(second, kForEver)), Outcome::kDone);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t call = 0; call < kCalls; ++call) ASSERT_TRUE(calls.is_right(call)) << call;
}

// Whoever is done with one begins the next, so ranks are up to one call apart, and some come too
// late to be waited for; daemons leave in the middle.
TEST(AtOnce, CallsOfStreamsOneBehindTheOtherAreRight) {
  constexpr size_t kCalls = kSanitized ? 40 : 150;
  constexpr uint32_t kRanks = 8;
  for (const uint64_t meet_ns : {0ul, 3'000ul, 50'000ul}) {
    DaemonOptions options = kRestless;
    options.presence.meet_ns = meet_ns;
    Calls calls(kRanks, 1, kCalls, options, "pull_all");
    engine::cuda::Watch watch;
    std::vector<std::thread> threads;
    for (uint32_t r = 0; r < kRanks; ++r) {
      threads.emplace_back([&calls, &watch, r] {
        ThreadStream stream;
        ASSERT_TRUE(calls.device().settle(&stream).ok());
        auto ordered = engine::cuda::Stream::create(calls.device(), calls.daemon(r), watch).value();
        for (size_t call = 0; call < kCalls; ++call) {
          auto request = calls.request(r, call);
          EXPECT_TRUE(ordered->submit({.stream = &stream, .requests = {&request, 1}}).ok());
        }
        stream.synchronize();
        watch.wait_for_all();
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (size_t call = 0; call < kCalls; ++call) ASSERT_TRUE(calls.is_right(call)) << call;
  }
}

// All that lies at hand on a rank may be of a stream whose turn comes only when operations of the
// other one are over, which lie at home.
TEST(AtOnce, StreamsOfWhichNothingLiesAtHandAreLookedAtToo) {
  constexpr size_t kCalls = 4 * engine::cuda::kParked;  // of each of two streams
  constexpr uint32_t kRanks = 2;
  Calls calls(kRanks, 1, 2 * kCalls, kRestless, "pull_all");
  engine::cuda::Watch watch;
  std::vector<std::thread> threads;
  for (uint32_t r = 0; r < kRanks; ++r) {
    threads.emplace_back([&calls, &watch, r] {
      ThreadStream streams[2];
      std::unique_ptr<engine::cuda::Stream> ordered[2];
      for (size_t s = 0; s < 2; ++s) {
        ASSERT_TRUE(calls.device().settle(&streams[s]).ok());
        ordered[s] = engine::cuda::Stream::create(calls.device(), calls.daemon(r), watch).value();
      }
      for (const size_t s : {size_t{r}, size_t{1} - r}) {
        for (size_t call = 0; call < kCalls; ++call) {
          auto request = calls.request(r, s * kCalls + call);
          EXPECT_TRUE(ordered[s]->submit({.stream = &streams[s], .requests = {&request, 1}}).ok());
        }
      }
      for (ThreadStream& stream : streams) stream.synchronize();
      watch.wait_for_all();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t call = 0; call < 2 * kCalls; ++call) ASSERT_TRUE(calls.is_right(call)) << call;
}

TEST(AtOnce, AMismatchIsAnErrorOfEveryRankAndNothingIsWritten) {
  for (const DaemonOptions& options : {kPatient, kHasty}) {
    Calls calls(3, 5, 1, options, "pull_all");
    std::vector<Daemon::Ticket> tickets;
    for (uint32_t r = 0; r < 3; ++r) {
      auto request = calls.request(r, 0);
      if (r == 2) request.signature.count = 4;
      tickets.push_back(calls.submit(r, request));
    }
    for (uint32_t r = 0; r < 3; ++r) {
      EXPECT_EQ(outcome_of(calls.wait(r, tickets[r])), Outcome::kMismatch) << r;
      EXPECT_TRUE(calls.is_unwritten(r)) << r;
    }
  }
}

// Whole words where they can be, bytes elsewhere; zeros behind.
TEST(AtOnce, InputMayLieAnywhere) {
  const std::byte bytes[] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5},
                             std::byte{6}, std::byte{7}, std::byte{8}, std::byte{9}};
  for (uint32_t begin = 0; begin < 4; ++begin) {
    for (uint32_t num = 0; begin + num <= sizeof bytes; ++num) {
      std::byte got[12]{};
      engine::cuda::copy_input(got, bytes + begin, num);
      for (uint32_t i = 0; i < sizeof got; ++i) {
        EXPECT_EQ(got[i], i < num ? bytes[begin + i] : std::byte{0}) << begin << " " << num;
      }
    }
  }
}

}  // namespace
}  // namespace tutti::test
