// Daemons whose peers call something else, give up, are lost, or cannot be reached.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/unit/cuda/daemon_calls.h"

namespace tutti::test {
namespace {

using engine::cuda::Completion;
using engine::cuda::Daemon;
using engine::cuda::LoadedProgram;
using engine::cuda::Missing;
using engine::cuda::Outcome;

// A small call's input travels in the letter, where others have addresses. As addresses, these
// numbers are beyond everything.
TEST(DaemonFaults, ASmallCallThatMeetsALargeOneIsAMismatchOnBothSides) {
  for (const uint32_t small : {0u, 1u}) {
    Calls calls(2, 20, 1, {.num_workers = 1, .presence = {}});
    LoadedProgram program = calls.load(small, 3, CollectiveKind::kAllReduce, "pull_all");
    const std::vector<int64_t> input(3, -1);
    std::vector<Daemon::Ticket> tickets;
    for (uint32_t r = 0; r < 2; ++r) {
      auto request = calls.request(r, 0);
      if (r == small) {
        request.signature.count = 3;
        request.program = &program;
        request.input = input.data();
      }
      tickets.push_back(calls.submit(r, request));
    }
    for (uint32_t r = 0; r < 2; ++r) {
      const Completion how = calls.wait(r, tickets[r]);
      EXPECT_EQ(outcome_of(how), Outcome::kMismatch) << r;
      EXPECT_EQ(how.member, 1 - r);
      EXPECT_EQ(how.signature.count, r == small ? 20u : 3u);
      EXPECT_TRUE(calls.is_unwritten(r)) << r;
    }
  }
}

// Letters that a daemon keeps for calls that it has not heard of. It has left.
size_t num_early(const Daemon& daemon) {
  size_t num = 0;
  for (const engine::cuda::EarlyNode* node : daemon.state()->leader.early) {
    for (; node != nullptr; node = node->next) ++num;
  }
  return num;
}

// Communicators that are made at the same time: the second neighbour is met, and the daemon runs,
// before the first one is, which has met this one already and writes to it.
TEST(DaemonFaults, NeighboursMayBeMetInAnyOrder) {
  ThreadDevice device;
  std::vector<std::unique_ptr<Daemon>> daemons;
  for (uint32_t d = 0; d < 3; ++d) {
    daemons.push_back(Daemon::create(device, d, kRestless).value());
    EXPECT_EQ(daemons[d]->expect_neighbour().value(), 1u);
  }
  EXPECT_EQ(daemons[0]->expect_neighbour().value(), 2u);
  std::vector<int64_t> numbers(2, 7);
  std::vector<std::vector<int64_t>> outputs(4, std::vector<int64_t>(1));
  std::vector<LoadedProgram> programs;
  const auto submit = [&](uint32_t daemon, uint64_t operation) {
    return daemons[daemon]
        ->submit({.operation = operation,
                  .signature = {1, 0, 0, static_cast<uint8_t>(DataType::kInt64), 0, 0},
                  .program = &programs[operation * 2 + (daemon == 0 ? 0 : 1)],
                  .input = numbers.data(),
                  .output = outputs[operation * 2 + (daemon == 0 ? 0 : 1)].data()})
        .value();
  };
  const auto wait = [&](uint32_t daemon, const Daemon::Ticket& ticket) {
    // Liveness: all members have issued it.
    while (!Daemon::is_over(ticket)) {
      for (const auto& it : daemons) ASSERT_TRUE(it->keep_going().ok());
    }
    EXPECT_EQ(outcome_of(daemons[daemon]->wait(ticket, kForEver)), Outcome::kDone);
  };
  // Operation 0 is of daemons 0 and 1, operation 1 of daemons 0 and 2.
  const auto fused = fuse_programs({CollectiveKind::kAllReduce, 2, 0, 0}, 1, "pull_all");
  for (const uint32_t other : {1u, 2u}) {
    programs.push_back(
        LoadedProgram::load(daemons[0]->memory(), fused[0], std::vector{0u, other}, 2).value());
    programs.push_back(
        LoadedProgram::load(daemons[other]->memory(), fused[1], std::vector{1u, 0u}, 2).value());
  }

  ASSERT_TRUE(daemons[1]->meet(1, {daemons[0]->front(), 1}).ok());
  const Daemon::Ticket there = submit(1, 0);
  ASSERT_TRUE(daemons[2]->meet(1, {daemons[0]->front(), 2}).ok());
  ASSERT_TRUE(daemons[0]->meet(2, {daemons[2]->front(), 1}).ok());
  const Daemon::Ticket first = submit(0, 1);
  wait(2, submit(2, 1));
  wait(0, first);
  daemons[0]->leave();
  EXPECT_EQ(num_early(*daemons[0]), 0u);
  ASSERT_EQ(daemons[0]->state()->leader.neighbours[1].num_read, 0u);
  ASSERT_TRUE(daemons[0]->meet(1, {daemons[1]->front(), 1}).ok());
  wait(0, submit(0, 0));
  wait(1, there);
  for (const auto& output : outputs) EXPECT_EQ(output[0], 14);
}

// The letter of a rank that calls later comes to one that has given up. The memory that it would be
// kept in is the sender's, which is done and uses it again for the next call.
TEST(DaemonFaults, LettersOfCallsThatWereGivenUpAreDropped) {
  constexpr size_t kCalls = 600;  // more than there are buckets
  Calls calls(2, 3, kCalls + 1, kRestless, "pull_all");
  const auto go_on_until_read = [&](uint32_t num_letters) {
    // Liveness: rank 0 has a call under way, so its daemon comes back and empties its mailbox.
    for (;;) {
      ASSERT_TRUE(calls.daemon(0).keep_going().ok());
      ASSERT_TRUE(calls.daemon(1).keep_going().ok());
      calls.device().synchronize();
      if (calls.daemon(0).state()->leader.neighbours[1].num_read == num_letters) return;
    }
  };
  const Daemon::Ticket last = calls.submit(0, calls.request(0, kCalls));
  auto impatient = calls.request(0, 0);
  impatient.budget_ns = 1'000'000;
  EXPECT_EQ(outcome_of(calls.wait(0, calls.submit(0, impatient))), Outcome::kDeadline);
  EXPECT_EQ(outcome_of(calls.wait(1, calls.submit(1, calls.request(1, 0)))), Outcome::kDone);
  go_on_until_read(1);
  ASSERT_EQ(num_early(calls.daemon(0)), 0u);

  for (uint32_t call = 1; call < kCalls; ++call) {
    const Daemon::Ticket early = calls.submit(1, calls.request(1, call));
    go_on_until_read(call + 1);
    ASSERT_EQ(num_early(calls.daemon(0)), 1u);
    ASSERT_EQ(outcome_of(calls.wait(0, calls.submit(0, calls.request(0, call)))), Outcome::kDone);
    ASSERT_EQ(outcome_of(calls.wait(1, early)), Outcome::kDone);
    ASSERT_TRUE(calls.is_right(call)) << call;
  }
  EXPECT_EQ(outcome_of(calls.wait(1, calls.submit(1, calls.request(1, kCalls)))), Outcome::kDone);
  EXPECT_EQ(outcome_of(calls.wait(0, last)), Outcome::kDone);
  EXPECT_EQ(calls.program(1).num_slots(), 1u);
}

// Rank 1 has called, and said so; then its daemon is away for as long as the test wants.
Daemon::Ticket call_and_go_away(Calls& calls, const engine::cuda::DeviceRequest& request) {
  const Daemon::Ticket ticket = calls.submit(1, request);
  calls.device().synchronize();
  return ticket;
}

// One block's work, work of several blocks, and the same by the leader alone.
TEST(DaemonFaults, APeerThatIsLostOnTheWayIsNamedAtTheDeadlineWithWhatItOwes) {
  struct Case {
    uint64_t elems;
    bool has_workers;
  };
  for (const Case& it : {Case{50, true}, Case{100'000, true}, Case{100'000, false}}) {
    Calls calls(2, it.elems, 3, kRestless);
    if (!it.has_workers) calls.device().withhold_workers();
    constexpr uint64_t kBudgetNs = 20'000'000;
    const Daemon::Ticket there = call_and_go_away(calls, calls.request(1, 0));
    auto request = calls.request(0, 0);
    request.budget_ns = kBudgetNs;
    const Completion how = calls.daemon(0).wait(calls.submit(0, request), kForEver);
    EXPECT_EQ(outcome_of(how), Outcome::kDeadline);
    EXPECT_EQ(how.member, 1u);
    EXPECT_EQ(how.stall.missing, static_cast<uint32_t>(Missing::kMessage));
    EXPECT_EQ(how.stall.member, 1u);
    EXPECT_LT(how.stall.seen, how.stall.expected);
    // It comes back, and finds what rank 0 did before it gave up. Then all is as before, but that
    // the memory of what was given up is not used again.
    EXPECT_EQ(outcome_of(calls.wait(1, there)), Outcome::kDone);
    for (size_t call = 1; call < 3; ++call) {
      const auto first = calls.submit(0, calls.request(0, call));
      const auto second = calls.submit(1, calls.request(1, call));
      EXPECT_EQ(outcome_of(calls.wait(0, first)), Outcome::kDone);
      EXPECT_EQ(outcome_of(calls.wait(1, second)), Outcome::kDone);
      EXPECT_TRUE(calls.is_right(call));
    }
    EXPECT_EQ(calls.program(0).num_slots(), 2u);
  }
}

TEST(DaemonFaults, APeerThatDoesNotTakeWhatItIsSentIsNamedAtTheDeadline) {
  constexpr uint64_t kElems = 5000;
  Calls calls(2, kElems, 1, kRestless);
  std::vector<LoadedProgram> programs;
  std::vector<engine::cuda::DeviceRequest> requests;
  for (uint32_t r = 0; r < 2; ++r) {
    programs.push_back(calls.load(r, kElems, CollectiveKind::kBroadcast, "direct"));
    requests.push_back(calls.request(r, 0));
  }
  for (uint32_t r = 0; r < 2; ++r) requests[r].program = &programs[r];
  requests[0].budget_ns = 20'000'000;
  const Daemon::Ticket there = call_and_go_away(calls, requests[1]);
  const Completion how = calls.daemon(0).wait(calls.submit(0, requests[0]), kForEver);
  EXPECT_EQ(outcome_of(how), Outcome::kDeadline);
  EXPECT_EQ(how.stall.missing, static_cast<uint32_t>(Missing::kReceipt));
  EXPECT_EQ(how.stall.member, 1u);
  EXPECT_EQ(how.stall.expected, 1u);
  EXPECT_EQ(how.stall.seen, 0u);
  EXPECT_EQ(outcome_of(calls.wait(1, there)), Outcome::kDone);
}

TEST(DaemonFaults, TheTimeOfACallBeginsWhenItsStreamHasComeToIt) {
  Calls calls(2, 50, 1, kRestless);
  engine::cuda::StreamWords stream{};
  auto request = calls.request(0, 0);
  request.budget_ns = 1'000'000;
  request.stream = &stream;
  request.stream_value = 1;
  const Daemon::Ticket ticket = calls.submit(0, request);
  EXPECT_EQ(outcome_of(calls.daemon(0).wait(ticket, 5'000'000)), Outcome::kUnderWay);
  engine::cuda::store_release(&stream.armed, 1);
  const Completion how = calls.daemon(0).wait(ticket, kForEver);
  EXPECT_EQ(outcome_of(how), Outcome::kDeadline);
  EXPECT_EQ(how.stall.missing, static_cast<uint32_t>(Missing::kCall));
  EXPECT_EQ(how.member, 1u);
}

TEST(DaemonFaults, NobodyWaitsForADeviceThatHasFailed) {
  Calls calls(2, 50, 3, kRestless);
  const Daemon::Ticket before = calls.submit(0, calls.request(0, 0));
  calls.device().synchronize();
  calls.device().die();
  const Daemon::Ticket first = calls.submit(0, calls.request(0, 1));
  EXPECT_EQ(outcome_of(calls.daemon(0).wait(before, kForEver)), Outcome::kDeviceLost);
  EXPECT_EQ(outcome_of(calls.daemon(0).wait(first, kForEver)), Outcome::kDeviceLost);
  EXPECT_FALSE(calls.daemon(0).keep_going().ok());
  const auto refused = calls.daemon(0).submit(calls.request(0, 2));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, testing::HasSubstr("illegal memory access"));
  calls.daemon(0).leave();
}

}  // namespace
}  // namespace tutti::test
