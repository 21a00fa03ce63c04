// Operations that are prepared once and triggered by a word, one thread playing all ranks.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "engine/cuda/watch.h"
#include "tests/unit/cuda/daemon_calls.h"

namespace tutti::test {
namespace {

using engine::cuda::Daemon;
using engine::cuda::Outcome;
using engine::cuda::Preparations;

constexpr uint64_t kOperation = 77;

Daemon::Preparation prepare(Calls& calls, uint32_t rank, engine::cuda::DeviceRequest request) {
  request.operation = 0;
  const auto out = calls.daemon(rank).prepare(request).value();
  EXPECT_TRUE(calls.daemon(rank).number(out, kOperation).ok());
  return out;
}

void trigger(const Daemon::Preparation& preparation) {
  engine::cuda::store_release(preparation.words.arm, 1);
  engine::cuda::store_release(preparation.words.triggered, 1);
}

// As a watch does, and nobody else: no call of the host tells the daemons.
void await(Calls& calls, const Daemon::Preparation& preparation) {
  // Liveness: all members have triggered it, or it has a deadline.
  while (engine::cuda::load_acquire(preparation.words.done) == 0) {
    for (uint32_t r = 0; r < 2; ++r) EXPECT_TRUE(calls.daemon(r).look_for_triggers().ok());
    std::this_thread::yield();
  }
  engine::cuda::store_relaxed(preparation.words.done, 0);
}

TEST(Triggers, EachHasANumberOfItsOwnThatIsNeverZero) {
  std::set<uint64_t> numbers;
  for (const uint64_t operation : {uint64_t{0}, uint64_t{1}, UINT64_MAX}) {
    for (uint32_t i = 0; i < 1000; ++i) {
      numbers.insert(engine::cuda::number_of_trigger(operation, i));
    }
  }
  EXPECT_EQ(numbers.size(), 3000u);
  EXPECT_FALSE(numbers.contains(0));
}

// The daemons are away at every trigger, and are sent away again at any point of what follows.
TEST(Triggers, DaemonsThatAreAwayComeForThem) {
  for (const uint64_t elems : {3ul, 50ul, 20'000ul}) {
    Calls calls(2, elems, 1, kRestless);
    std::vector<Daemon::Preparation> prepared;
    for (uint32_t r = 0; r < 2; ++r) prepared.push_back(prepare(calls, r, calls.request(r, 0)));
    for (uint32_t i = 0; i < 30; ++i) {
      trigger(prepared[i % 2]);
      if (i % 3 == 0) {
        EXPECT_TRUE(calls.daemon(i % 2).look_for_triggers().ok());
      }
      if (i % 4 == 0) calls.daemon(0).leave();
      trigger(prepared[1 - i % 2]);
      for (uint32_t r = 0; r < 2; ++r) await(calls, prepared[r]);
      ASSERT_TRUE(calls.is_right(0)) << i;
      for (uint32_t r = 0; r < 2; ++r) calls.daemon(r).leave();
    }
    for (uint32_t r = 0; r < 2; ++r) {
      EXPECT_EQ(Preparations::failure_of(*prepared[r].ticket.slot.completion).outcome, 0u);
      calls.daemon(r).withdraw(prepared[r]);
      EXPECT_EQ(calls.daemon(r).num_prepared(), 0u);
    }
  }
}

TEST(Triggers, ADaemonThatNothingWasTriggeredOnStaysAway) {
  Calls calls(2, 3, 1, kRestless);
  const auto prepared = prepare(calls, 0, calls.request(0, 0));
  EXPECT_FALSE(calls.daemon(0).look_for_triggers().value());
  EXPECT_EQ(calls.daemon(0).num_launches(), 0u);
  calls.daemon(0).withdraw(prepared);
}

// What the host sees without a word to the device.
TEST(Triggers, ADaemonIsAtRestWhenNothingIsUnderWayThatWasTriggered) {
  Calls calls(2, 3, 1, kRestless);
  std::vector<Daemon::Preparation> prepared;
  for (uint32_t r = 0; r < 2; ++r) prepared.push_back(prepare(calls, r, calls.request(r, 0)));
  Daemon& daemon = calls.daemon(0);
  EXPECT_EQ(daemon.launch_here(), 0u);
  trigger(prepared[0]);
  EXPECT_EQ(daemon.launch_here(), 1u);
  EXPECT_EQ(daemon.num_launches(), 0u);  // nobody has launched it yet
  // Liveness: it comes, and takes the trigger.
  while (engine::cuda::load_acquire(prepared[0].words.arm) != 0) {
    EXPECT_TRUE(daemon.look_for_triggers().ok());
    std::this_thread::yield();
  }
  const uint32_t launch = daemon.launch_here();
  EXPECT_EQ(launch, daemon.num_launches());
  // Away for a moment, with something under way.
  daemon.leave();
  EXPECT_EQ(daemon.launch_here(), launch + 1);
  EXPECT_TRUE(daemon.look_for_triggers().value());
  EXPECT_EQ(daemon.launch_here(), launch + 1);
  trigger(prepared[1]);
  for (uint32_t r = 0; r < 2; ++r) await(calls, prepared[r]);
  // Liveness: with nothing under way it goes, and is brought back once more at most.
  while (daemon.launch_here() != 0) EXPECT_TRUE(daemon.look_for_triggers().ok());
  for (uint32_t r = 0; r < 2; ++r) calls.daemon(r).withdraw(prepared[r]);
}

// Rank 1 comes too late. Peers may still write to what was given up, so it is not used again: its
// triggers are over at once, and the first failure stays the one that is told.
TEST(Triggers, WhatHasFailedForGoodIsOverAtOnce) {
  Calls calls(2, 50, 2, kRestless);
  auto request = calls.request(0, 0);
  request.budget_ns = 1'000'000;
  const auto prepared = prepare(calls, 0, request);
  for (int i = 0; i < 3; ++i) {
    trigger(prepared);
    await(calls, prepared);
    const auto how = Preparations::failure_of(*prepared.ticket.slot.completion);
    EXPECT_EQ(outcome_of(how), Outcome::kDeadline);
    EXPECT_EQ(how.member, 1u);
  }
  EXPECT_FALSE(Preparations::is_clean(*prepared.ticket.slot.completion));
  calls.daemon(0).withdraw(prepared);
  const auto first = calls.submit(0, calls.request(0, 1));
  const auto second = calls.submit(1, calls.request(1, 1));
  EXPECT_EQ(outcome_of(calls.wait(0, first)), Outcome::kDone);
  EXPECT_EQ(outcome_of(calls.wait(1, second)), Outcome::kDone);
  EXPECT_EQ(calls.program(0).num_slots(), 2u);
}

// What nobody may destroy where it is let go.
TEST(Triggers, AWatchDestroysWhatIsReleasedInItsOwnThread) {
  engine::cuda::Watch watch;
  std::thread::id destroyer;
  watch.release(std::shared_ptr<int>(new int(1), [&](const int* number) {
    destroyer = std::this_thread::get_id();
    delete number;
  }));
  watch.wait_for_all();
  EXPECT_NE(destroyer, std::thread::id());
  EXPECT_NE(destroyer, std::this_thread::get_id());
}

}  // namespace
}  // namespace tutti::test
