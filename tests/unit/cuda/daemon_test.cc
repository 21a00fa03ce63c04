// Daemons on threads of the host: the same code as in the kernel, but for who moves the bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <thread>

#include "base/clock.h"
#include "engine/cuda/watch.h"
#include "tests/support/any_order.h"
#include "tests/support/daemon_ranks.h"
#include "tests/support/sanitized.h"
#include "tests/unit/cuda/daemon_calls.h"

namespace tutti::test {
namespace {

using engine::cuda::Completion;
using engine::cuda::Daemon;
using engine::cuda::DaemonOptions;
using engine::cuda::LoadedProgram;
using engine::cuda::Outcome;

// pull_all reads inputs until all are done: it does not run in place, unless inputs travel along.
bool needs_two_buffers(const TestCollective::Spec& spec) {
  return spec.algorithm == "pull_all" && spec.in_place;
}

void add_mixed(DaemonRanks& ranks, uint32_t num_ranks) {
  for (const auto& spec : mixed_collectives()) {
    if (spec.root < num_ranks && !needs_two_buffers(spec)) ranks.add(spec, first_ranks(num_ranks));
  }
}

std::vector<Rank> some_ranks(std::initializer_list<uint32_t> list) {
  std::vector<Rank> out;
  for (const uint32_t r : list) out.emplace_back(r);
  return out;
}

TEST(Daemon, EveryCollectiveIsExact) {
  for (const uint32_t n : {1u, 2u, 3u, 5u}) {
    DaemonRanks ranks(n, {.num_workers = 3, .presence = {}});
    add_mixed(ranks, n);
    ASSERT_EQ(ranks.run(), "") << n << " ranks";
    ASSERT_EQ(ranks.difference(), "") << n << " ranks";
  }
}

TEST(Daemon, AnyNumberOfElementsOfAnyNumberOfRanksIsReduced) {
  for (const uint32_t n : {1u, 2u, 3u, 5u, 8u}) {
    DaemonRanks ranks(n, {.num_workers = 3, .presence = {}});
    for (const uint64_t elems : {0ul, 1ul, 2ul, 13ul, 1023ul, 20'011ul}) {
      for (const std::string_view algorithm : {"pull", "pull_all", "ring", "one_shot"}) {
        const bool in_place = elems % 2 == 1 && algorithm != "pull_all";
        ranks.add({CollectiveKind::kAllReduce, algorithm, elems, 0, in_place}, first_ranks(n));
      }
    }
    ASSERT_EQ(ranks.run(), "") << n << " ranks";
    ASSERT_EQ(ranks.difference(), "") << n << " ranks";
  }
}

TEST(Daemon, AnyNumberOfElementsIsSpreadFromAndToAnyRoot) {
  for (const uint32_t n : {1u, 2u, 3u, 5u, 8u}) {
    DaemonRanks ranks(n, {.num_workers = 3, .presence = {}});
    for (const uint64_t elems : {0ul, 1ul, 13ul, 1023ul, 20'011ul}) {
      for (const uint32_t root : {0u, n / 2}) {
        for (const bool in_place : {false, true}) {
          ranks.add({CollectiveKind::kBroadcast, "spread", elems, root, in_place}, first_ranks(n));
          ranks.add({CollectiveKind::kReduce, "spread", elems, root, in_place}, first_ranks(n));
        }
      }
    }
    ASSERT_EQ(ranks.run(), "") << n << " ranks";
    ASSERT_EQ(ranks.difference(), "") << n << " ranks";
  }
}

TEST(Daemon, RanksMayIssueInAnyOrderWhileDaemonsComeAndGo) {
  uint32_t num_launches = 0;
  uint32_t num_ranks = 0;
  for (uint64_t seed = 1; seed <= (kSanitized ? 3 : 10); ++seed) {
    const auto n = static_cast<uint32_t>(2 + seed % 3);
    DaemonRanks ranks(n, kRestless);
    add_mixed(ranks, n);
    ranks.shuffle(seed);
    ASSERT_EQ(ranks.run(), "") << "seed " << seed;
    ASSERT_EQ(ranks.difference(), "") << "seed " << seed;
    num_launches += ranks.num_launches();
    num_ranks += n;
  }
  EXPECT_GT(num_launches, num_ranks);
}

TEST(Daemon, OverlappingGroupsComplete) {
  DaemonRanks ranks(4, kRestless);
  for (uint64_t round = 0; round < 4; ++round) {
    for (const uint32_t r : {0u, 2u}) {
      ranks.add({CollectiveKind::kAllReduce, "pull", 5000 + round}, some_ranks({r, r + 1}));
    }
    for (const uint32_t r : {0u, 1u}) {
      ranks.add({CollectiveKind::kAllGather, "direct", 6}, some_ranks({r + 2, r}));
      ranks.add({CollectiveKind::kSendRecv, "direct", 3000}, some_ranks({r, r + 2}));
    }
    ranks.add({CollectiveKind::kAllReduce, "recursive_doubling", 100}, first_ranks(4));
  }
  ranks.shuffle(7);
  ASSERT_EQ(ranks.run(), "");
  ASSERT_EQ(ranks.difference(), "");
}

// What hangs other libraries: a rank waits for the whole device between two collectives, and its
// peers' collectives wait for that rank.
TEST(Daemon, WaitingForTheWholeDeviceEndsWhileCollectivesArePending) {
  for (uint64_t seed = 1; seed <= (kSanitized ? 2 : 6); ++seed) {
    DaemonRanks ranks(3, kRestless);
    add_mixed(ranks, 3);
    ranks.shuffle(seed);
    const auto between = [&](uint32_t rank) {
      thread_local std::mt19937_64 random(seed * 3 + rank);
      if (random() % 4 == 0) ranks.device().synchronize();
    };
    ASSERT_EQ(ranks.run(between), "") << "seed " << seed;
    ASSERT_EQ(ranks.difference(), "") << "seed " << seed;
  }
}

TEST(Daemon, ThousandsInFlightInDifferentOrdersComplete) {
  constexpr size_t kCalls = kSanitized ? 1'500 : 10'000;
  constexpr uint32_t kRanks = 3;
  Calls calls(kRanks, 2, kCalls, {.num_workers = 1, .presence = {}});
  std::vector<std::thread> threads;
  for (uint32_t r = 0; r < kRanks; ++r) {
    threads.emplace_back([&calls, r] {
      std::vector<size_t> order(kCalls);
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), std::mt19937_64(r));
      std::vector<Daemon::Ticket> tickets;
      for (const size_t call : order) tickets.push_back(calls.submit(r, calls.request(r, call)));
      for (const Daemon::Ticket& ticket : tickets) {
        EXPECT_EQ(outcome_of(calls.daemon(r).wait(ticket, kForEver)), Outcome::kDone);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t call = 0; call < kCalls; ++call) ASSERT_TRUE(calls.is_right(call)) << call;
}

TEST(Daemon, MemoryOfWhatIsOverIsUsedAgain) {
  constexpr size_t kCalls = 200;
  Calls calls(2, 3000, kCalls, {.num_workers = 2, .presence = {}});
  for (size_t call = 0; call < kCalls; ++call) {
    const auto first = calls.submit(0, calls.request(0, call));
    const auto second = calls.submit(1, calls.request(1, call));
    ASSERT_EQ(outcome_of(calls.wait(0, first)), Outcome::kDone);
    ASSERT_EQ(outcome_of(calls.wait(1, second)), Outcome::kDone);
    ASSERT_TRUE(calls.is_right(call));
  }
  EXPECT_EQ(calls.program(0).num_slots(), 1u);
}

// Sums of chunks that other ranks have written into the root's output.
TEST(Daemon, ASpreadReduceScalesEveryInputAndAveragesAtTheRoot) {
  constexpr uint64_t kElems = 7000;
  for (const Op op : {Op::kAvg, Op::kPremulSum}) {
    Calls calls(3, kElems, 1, {.num_workers = 2, .presence = {}});
    std::vector<LoadedProgram> programs;
    for (uint32_t r = 0; r < 3; ++r) {
      programs.push_back(calls.load(r, kElems, CollectiveKind::kReduce, "spread"));
    }
    std::vector<Daemon::Ticket> tickets;
    for (uint32_t r = 0; r < 3; ++r) {
      auto request = calls.request(r, 0);
      request.program = &programs[r];
      request.signature.op = static_cast<uint8_t>(op);
      request.factor = 2;
      tickets.push_back(calls.submit(r, request));
    }
    for (uint32_t r = 0; r < 3; ++r) {
      ASSERT_EQ(outcome_of(calls.wait(r, tickets[r])), Outcome::kDone);
    }
    // Inputs are twice, three and four times the index.
    const int64_t factor = op == Op::kAvg ? 9 / 3 : 9 * 2;
    for (uint64_t i = 0; i < kElems; ++i) {
      ASSERT_EQ(calls.output(0)[i], static_cast<int64_t>(i) * factor) << i;
    }
    EXPECT_TRUE(calls.is_unwritten(1) && calls.is_unwritten(2));
  }
}

// Whoever launches workers may be held up by the driver until this very operation is over.
TEST(Daemon, ALeaderDoesTheWorkOfWorkersThatDoNotCome) {
  for (const DaemonOptions& options :
       {DaemonOptions{.num_workers = 3, .presence = {}}, kRestless}) {
    DaemonRanks ranks(3, options);
    ranks.device().withhold_workers();
    for (const uint64_t elems : {100'003ul, 150'001ul}) {
      ranks.add({CollectiveKind::kAllReduce, "pull", elems}, first_ranks(3));
      ranks.add({CollectiveKind::kAllGather, "direct", elems * 3}, first_ranks(3));
    }
    ranks.shuffle(3);
    ASSERT_EQ(ranks.run(), "");
    ASSERT_EQ(ranks.difference(), "");
  }
}

TEST(Daemon, MismatchIsAnErrorOfEveryRankAndNothingIsWritten) {
  Calls calls(3, 50, 1, {.num_workers = 1, .presence = {}});
  std::vector<Daemon::Ticket> tickets;
  for (uint32_t r = 0; r < 3; ++r) {
    auto request = calls.request(r, 0);
    if (r == 2) request.signature.count = 49;
    tickets.push_back(calls.submit(r, request));
  }
  for (uint32_t r = 0; r < 3; ++r) {
    const Completion how = calls.wait(r, tickets[r]);
    EXPECT_EQ(outcome_of(how), Outcome::kMismatch) << r;
    EXPECT_EQ(how.signature.count, r == 2 ? 50u : 49u) << r;
    EXPECT_EQ(how.member == 2, r != 2) << r;
    EXPECT_TRUE(calls.is_unwritten(r)) << r;
  }
}

TEST(Daemon, WhoIsMissingAtTheDeadlineIsNamed) {
  Calls calls(3, 50, 1, kRestless);
  auto first = calls.request(0, 0);
  auto third = calls.request(2, 0);
  first.budget_ns = third.budget_ns = 1'000'000;
  const auto ticket = calls.submit(0, first);
  const auto other = calls.submit(2, third);
  EXPECT_EQ(calls.wait(0, ticket).member, 1u);
  const Completion how = calls.wait(2, other);
  EXPECT_EQ(outcome_of(how), Outcome::kDeadline);
  EXPECT_TRUE(calls.is_unwritten(0));
}

TEST(Daemon, AbortEndsWhatIsUnderWay) {
  Calls calls(2, 5000, 2, kRestless);
  const auto alone = calls.submit(0, calls.request(0, 0));
  EXPECT_EQ(outcome_of(calls.daemon(0).wait(alone, 2'000'000)), Outcome::kUnderWay);
  ASSERT_TRUE(calls.daemon(0).abort(0).ok());
  EXPECT_EQ(outcome_of(calls.wait(0, alone)), Outcome::kAborted);
}

// A stream: the operation begins when the stream has come to it, and opens the gate behind it.
TEST(Daemon, OperationsOfAStreamWaitForItAndItForThem) {
  constexpr uint32_t kValue = 0;  // the words have wrapped around
  Calls calls(2, 20, 1, kRestless);
  std::vector<engine::cuda::StreamWords> streams(2);
  for (auto& stream : streams) stream.armed = stream.gate = kValue - 1;
  std::vector<Daemon::Ticket> tickets;
  for (uint32_t r = 0; r < 2; ++r) {
    auto request = calls.request(r, 0);
    request.stream = &streams[r];
    request.stream_value = kValue;
    tickets.push_back(calls.submit(r, request));
  }
  engine::cuda::store_release(&streams[0].armed, kValue);
  EXPECT_EQ(outcome_of(calls.daemon(0).wait(tickets[0], 2'000'000)), Outcome::kUnderWay);
  EXPECT_TRUE(calls.is_unwritten(0));
  engine::cuda::store_release(&streams[1].armed, kValue);
  for (uint32_t r = 0; r < 2; ++r) {
    EXPECT_EQ(outcome_of(calls.wait(r, tickets[r])), Outcome::kDone);
    EXPECT_EQ(engine::cuda::load_acquire(&streams[r].gate), kValue);
  }
  EXPECT_TRUE(calls.is_right(0));
}

class CountsEndings : public engine::cuda::Ending {
 public:
  void began(const engine::cuda::DeviceRequest& /*request*/) override {}
  void ended(uint64_t /*operation*/, const Completion& how) override {
    if (outcome_of(how) != Outcome::kDone) ++num_failed_;
    ++num_ended_;
  }
  void began_copies() override {}
  void ended_copies(const Status& how) override {
    if (!how) ++num_failed_;
    ++num_ended_;
  }
  [[nodiscard]] uint32_t num_ended() const { return num_ended_; }
  [[nodiscard]] uint32_t num_failed() const { return num_failed_; }

 private:
  std::atomic<uint32_t> num_ended_{0};
  std::atomic<uint32_t> num_failed_{0};
};

// Many calls of several streams, issued far ahead of their streams.
TEST(Daemon, OperationsOfAStreamComeInItsOrder) {
  constexpr uint32_t kCalls = 60;
  Calls calls(2, 20, 2 * kCalls, kRestless);
  CountsEndings endings;
  engine::cuda::Watch watch;
  std::vector<std::vector<engine::cuda::StreamWords>> streams(
      2, std::vector<engine::cuda::StreamWords>(2));
  for (uint32_t call = 0; call < 2 * kCalls; ++call) {
    for (uint32_t r = 0; r < 2; ++r) {
      auto request = calls.request(r, call);
      request.stream = &streams[r][call % 2];
      request.stream_value = call / 2 + 1;
      watch.add(
          {.daemon = &calls.daemon(r), .ticket = calls.submit(r, request), .ending = &endings});
    }
  }
  for (uint32_t value = 1; value <= kCalls; ++value) {
    for (uint32_t i = 0; i < 4; ++i) {
      engine::cuda::StreamWords& stream = streams[i % 2][i / 2];
      engine::cuda::store_release(&stream.armed, value);
    }
    for (uint32_t i = 0; i < 4; ++i) {
      // Liveness: both ranks' streams have come to this call, and the watch keeps daemons going.
      while (engine::cuda::load_acquire(&streams[i % 2][i / 2].gate) != value) {
        std::this_thread::yield();
      }
    }
    EXPECT_TRUE(calls.is_right(2 * value - 2) && calls.is_right(2 * value - 1)) << value;
  }
  watch.wait_for_all();
  EXPECT_EQ(endings.num_ended(), 4 * kCalls);
  EXPECT_EQ(endings.num_failed(), 0u);
}

class AddsAnother final : public engine::cuda::Ending {
 public:
  AddsAnother(engine::cuda::Watch& watch, const engine::cuda::Watched& other)
      : watch_(watch), other_(other) {}
  void began(const engine::cuda::DeviceRequest& /*request*/) override {}
  void ended(uint64_t /*operation*/, const Completion& /*how*/) override { watch_.add(other_); }
  void began_copies() override {}
  void ended_copies(const Status& /*how*/) override {}

 private:
  engine::cuda::Watch& watch_;
  engine::cuda::Watched other_;
};

// Who is told of an end takes locks under which others add operations, so the watch holds none
// then.
TEST(Daemon, WhoIsToldOfAnEndMayHaveAnotherOperationWatched) {
  Calls calls(2, 20, 2, kRestless);
  CountsEndings endings;
  engine::cuda::Watch watch;
  const auto watched = [&](uint32_t r, uint32_t call, engine::cuda::Ending& ending) {
    return engine::cuda::Watched{.daemon = &calls.daemon(r),
                                 .ticket = calls.submit(r, calls.request(r, call)),
                                 .ending = &ending};
  };
  AddsAnother adds(watch, watched(0, 1, endings));
  watch.add(watched(0, 0, adds));
  watch.add(watched(1, 0, endings));
  watch.add(watched(1, 1, endings));
  watch.wait_for_all();
  EXPECT_EQ(endings.num_ended(), 3u);
  EXPECT_EQ(endings.num_failed(), 0u);
  EXPECT_TRUE(calls.is_right(0) && calls.is_right(1));
}

constexpr DaemonOptions kCrowded{.num_workers = 3,
                                 .presence = {.linger_ns = 5'000,
                                              .stay_ns = 50'000,
                                              .patience_ns = 1'000'000,
                                              .standstill_ns = 2'000'000}};

// All workers of a rank are there, and wait for a peer that has no room beside them. They leave,
// though a stream waits for them, and their leader goes on with what they have put down.
TEST(Daemon, WorkersThatStandStillMakeRoomForThePeerTheyWaitFor) {
  DaemonOptions options = kCrowded;
  options.presence.patience_ns = 100'000'000;  // with workers that come
  Calls calls(2, 100'000, 1, options);
  const Daemon::Ticket there = calls.submit(1, calls.request(1, 0));
  calls.device().synchronize();  // it has told its peer, and left
  calls.device().limit_blocks(1 + kCrowded.num_workers);
  engine::cuda::StreamWords stream{};
  stream.armed = 1;
  auto request = calls.request(0, 0);
  request.stream = &stream;
  request.stream_value = 1;
  const Daemon::Ticket here = calls.submit(0, request);
  // Until workers have it. On a busy machine the leader may have lost patience with them before,
  // and does their work from the beginning.
  const uint64_t until = base::now_ns() + 1'000'000'000;
  // Liveness: it ends with the time.
  while (engine::cuda::load_relaxed(&calls.daemon(0).state()->num_published) == 0 &&
         base::now_ns() < until) {
    ASSERT_TRUE(calls.daemon(0).keep_going().ok());
  }
  EXPECT_EQ(outcome_of(calls.wait(0, here)), Outcome::kDone);
  EXPECT_EQ(outcome_of(calls.wait(1, there)), Outcome::kDone);
  EXPECT_TRUE(calls.is_right(0));
}

// Streams wait, so no daemon leaves; and not all blocks of all ranks have room at once. Blocks that
// are there must not wait for ever for blocks of peers that are not.
TEST(Daemon, OperationsOfStreamsCompleteOnADeviceWithoutRoomForAllBlocks) {
  constexpr uint32_t kRanks = 3;
  constexpr uint32_t kCalls = 3;
  for (const uint32_t num_places : {kRanks, kRanks + 1, kRanks + 2, kRanks + 5, kRanks + 8}) {
    Calls calls(kRanks, 100'000, kCalls, kCrowded);
    calls.device().limit_blocks(num_places);
    CountsEndings endings;
    engine::cuda::Watch watch;
    std::vector<engine::cuda::StreamWords> streams(kRanks);
    for (uint32_t call = 0; call < kCalls; ++call) {
      for (uint32_t r = 0; r < kRanks; ++r) {
        auto request = calls.request(r, call);
        request.stream = &streams[r];
        request.stream_value = call + 1;
        watch.add(
            {.daemon = &calls.daemon(r), .ticket = calls.submit(r, request), .ending = &endings});
      }
    }
    for (engine::cuda::StreamWords& stream : streams) {
      engine::cuda::store_release(&stream.armed, kCalls);
    }
    watch.wait_for_all();
    EXPECT_EQ(endings.num_failed(), 0u);
    for (uint32_t call = 0; call < kCalls; ++call) ASSERT_TRUE(calls.is_right(call)) << call;
  }
}

// Nobody waits in the host: whoever keeps watch brings the daemons back.
TEST(Daemon, WhatNobodyWaitsForGoesOnWhenSomeoneKeepsItGoing) {
  Calls calls(2, 20, 1, kRestless);
  const auto first = calls.submit(0, calls.request(0, 0));
  calls.device().synchronize();
  const auto second = calls.submit(1, calls.request(1, 0));
  // Liveness: each launch goes on where the last one left.
  while (!Daemon::is_over(first) || !Daemon::is_over(second)) {
    for (uint32_t r = 0; r < 2; ++r) ASSERT_TRUE(calls.daemon(r).keep_going().ok());
  }
  EXPECT_EQ(outcome_of(calls.wait(0, first)), Outcome::kDone);
  EXPECT_EQ(outcome_of(calls.wait(1, second)), Outcome::kDone);
  EXPECT_TRUE(calls.is_right(0));
  EXPECT_FALSE(calls.daemon(0).keep_going().value());
}

TEST(Daemon, RefusesWhatCannotBe) {
  ThreadDevice device;
  EXPECT_FALSE(Daemon::create_all(device, 0, {}).ok());
  EXPECT_FALSE(Daemon::create_all(device, 65, {}).ok());
  EXPECT_FALSE(Daemon::create_all(device, 2, {.num_workers = 0, .presence = {}}).ok());
}

}  // namespace
}  // namespace tutti::test
