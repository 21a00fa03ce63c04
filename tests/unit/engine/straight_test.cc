// Small calls: over before they return where their peers are there, operations like any other where
// they are not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <utility>
#include <vector>

#include "tests/support/cluster.h"

namespace tutti::test {
namespace {

using engine::Operation;
using engine::OperationState;
using Spec = TestCollective::Spec;

// In a record, beside the ring, and as much as three ranks send so; elements are of 8 bytes.
constexpr uint64_t kSmallSizes[] = {0, 1, 3, 59, 60, 500, 512};

void take_turns(Cluster& cluster) {
  for (int turn = 0; turn < 50; ++turn) {
    for (uint32_t r = 0; r < cluster.num_ranks(); ++r) cluster.engine(r).progress();
  }
}

Operation* call(Cluster& cluster, TestCollective& collective, uint32_t rank) {
  return cluster.engine(rank).call(collective.request(rank), 1).value();
}

TEST(Straight, TheLastCallerIsDoneWhenTheCallReturns) {
  for (const uint64_t elems : kSmallSizes) {
    for (const bool in_place : {false, true}) {
      Cluster cluster(3);
      TestCollective sum({CollectiveKind::kAllReduce, "pull_all", elems, 0, in_place}, 7,
                         first_ranks(3));
      Operation* const first = call(cluster, sum, 0);
      Operation* const second = call(cluster, sum, 1);
      ASSERT_NE(first, nullptr);
      ASSERT_NE(second, nullptr);
      EXPECT_EQ(call(cluster, sum, 2), nullptr) << elems;
      EXPECT_EQ(cluster.engine(2).num_under_way(), 0u);
      EXPECT_EQ(cluster.engine(2).counts().completed, 1u);
      take_turns(cluster);
      EXPECT_EQ(first->state.load(), OperationState::kDone);
      EXPECT_EQ(second->state.load(), OperationState::kDone);
      EXPECT_EQ(sum.difference(), "") << elems;
    }
  }
}

TEST(Straight, WhoOnlySendsNeverWaits) {
  for (const uint64_t elems : kSmallSizes) {
    Cluster cluster(3);
    TestCollective broadcast({CollectiveKind::kBroadcast, "direct", elems, 1}, 7, first_ranks(3));
    EXPECT_EQ(call(cluster, broadcast, 1), nullptr);
    EXPECT_EQ(call(cluster, broadcast, 0), nullptr);
    EXPECT_EQ(call(cluster, broadcast, 2), nullptr);
    EXPECT_EQ(broadcast.difference(), "") << elems;
  }
}

TEST(Straight, WhatWouldBeCopiedForManyIsLent) {
  for (const auto& [elems, is_packet] : {std::pair{512u, true}, {513u, false}}) {
    Cluster cluster(3);
    TestCollective sum({CollectiveKind::kAllReduce, "pull_all", elems}, 7, first_ranks(3));
    const Operation* const first = call(cluster, sum, 0);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->carriage == engine::Carriage::kPackets, is_packet);
  }
}

// What goes to all from one buffer is copied once, however many they are.
TEST(Straight, ABroadcastIsCopiedOnce) {
  for (const auto& [elems, is_packet] : {std::pair{1024u, true}, {1025u, false}}) {
    Cluster cluster(4);
    TestCollective broadcast({CollectiveKind::kBroadcast, "direct", elems, 2}, 7, first_ranks(4));
    Operation* const receiver = call(cluster, broadcast, 0);
    ASSERT_NE(receiver, nullptr);
    EXPECT_EQ(receiver->carriage == engine::Carriage::kPackets, is_packet);
    for (const uint32_t rank : {2u, 3u, 1u}) (void)call(cluster, broadcast, rank);
    take_turns(cluster);
    EXPECT_EQ(broadcast.difference(), "");
  }
}

// Rank 0 is three calls ahead; rank 1 finds them in the ring one after the other.
TEST(Straight, CallsThatWaitInTheRingAreTakenInOrder) {
  Cluster cluster(2);
  std::deque<TestCollective> calls;
  for (uint64_t id = 1; id <= 3; ++id) {
    calls.emplace_back(Spec{CollectiveKind::kAllGather, "direct", 100 * id}, id, first_ranks(2));
    EXPECT_NE(call(cluster, calls.back(), 0), nullptr);
  }
  for (TestCollective& one : calls) EXPECT_EQ(call(cluster, one, 1), nullptr);
  take_turns(cluster);
  for (TestCollective& one : calls) EXPECT_EQ(one.difference(), "");
  EXPECT_EQ(cluster.engine(1).stock().early_records, 0u);  // none had to be kept
}

// Rank 1 waits for rank 2 while rank 0 is many calls ahead.
TEST(Straight, CallsThatComeWhileAnotherIsWaitedForStayInTheRing) {
  Cluster cluster(3);
  TestCollective waited({CollectiveKind::kBroadcast, "direct", 2, 2}, 99, first_ranks(3));
  ASSERT_NE(call(cluster, waited, 1), nullptr);
  std::deque<TestCollective> calls;
  for (uint64_t id = 1; id < transport::kRingSlots / 2; ++id) {
    calls.emplace_back(Spec{CollectiveKind::kBroadcast, "direct", id % 50}, id, first_ranks(2));
    EXPECT_EQ(call(cluster, calls.back(), 0), nullptr);
  }
  EXPECT_FALSE(cluster.engine(1).progress());
  EXPECT_EQ(call(cluster, waited, 2), nullptr);
  EXPECT_TRUE(cluster.engine(1).progress());
  EXPECT_EQ(cluster.engine(1).num_under_way(), 0u);
  for (TestCollective& one : calls) {
    EXPECT_EQ(call(cluster, one, 1), nullptr);
    EXPECT_EQ(one.difference(), "");
  }
  EXPECT_EQ(cluster.engine(1).stock().early_records, 0u);
}

// In the ring of rank 0 it lies behind one that rank 1 has not made.
TEST(Straight, WhatIsWaitedForIsFoundBehindWhatIsNot) {
  Cluster cluster(2);
  std::deque<TestCollective> calls;
  for (uint64_t id = 1; id <= 3; ++id) {
    calls.emplace_back(Spec{CollectiveKind::kBroadcast, "direct", id}, id, first_ranks(2));
  }
  EXPECT_EQ(call(cluster, calls[0], 0), nullptr);
  cluster.engine(1).progress();  // which has seen it there, and left it
  const Operation* const waited = call(cluster, calls[1], 1);
  ASSERT_NE(waited, nullptr);
  cluster.engine(1).progress();
  EXPECT_EQ(call(cluster, calls[1], 0), nullptr);
  EXPECT_EQ(call(cluster, calls[2], 0), nullptr);
  EXPECT_TRUE(cluster.engine(1).progress());
  EXPECT_EQ(waited->state.load(), OperationState::kDone);
  EXPECT_EQ(cluster.engine(1).stock().early_records_held, 1u);  // the first, and not the third
  for (const size_t i : {2u, 0u}) (void)call(cluster, calls[i], 1);
  take_turns(cluster);
  for (TestCollective& one : calls) EXPECT_EQ(one.difference(), "");
}

TEST(Straight, WhoRunsTheEngineLeavesTheSenderRoom) {
  for (const uint64_t elems : {1u, 1000u}) {
    Cluster cluster(2);
    std::deque<TestCollective> calls;
    for (uint64_t id = 1; id <= 200; ++id) {
      calls.emplace_back(Spec{CollectiveKind::kBroadcast, "direct", elems}, id, first_ranks(2));
      EXPECT_EQ(call(cluster, calls.back(), 0), nullptr) << id;
      cluster.engine(1).progress();
    }
    for (TestCollective& one : calls) (void)call(cluster, one, 1);
    take_turns(cluster);
    for (TestCollective& one : calls) EXPECT_EQ(one.difference(), "");
  }
}

TEST(Straight, OtherOrdersAreMetAllTheSame) {
  for (const uint64_t elems : kSmallSizes) {
    Cluster cluster(2);
    std::deque<TestCollective> calls;
    for (uint64_t id = 1; id <= 3; ++id) {
      calls.emplace_back(Spec{CollectiveKind::kAllReduce, "pull_all", elems}, id, first_ranks(2));
      EXPECT_NE(call(cluster, calls.back(), 0), nullptr);
    }
    Operation* const last = call(cluster, calls[2], 1);
    ASSERT_NE(last, nullptr);  // others are before it in the ring
    take_turns(cluster);
    EXPECT_EQ(last->state.load(), OperationState::kDone);
    for (const size_t i : {0u, 1u}) (void)call(cluster, calls[i], 1);
    take_turns(cluster);
    for (TestCollective& one : calls) EXPECT_EQ(one.difference(), "") << elems;
    for (uint32_t r = 0; r < 2; ++r) EXPECT_EQ(cluster.engine(r).num_under_way(), 0u);
    EXPECT_EQ(cluster.engine(1).stock().early_records_held, 0u);
  }
}

TEST(Straight, AMismatchIsAnErrorOnBothSidesAndWritesNothing) {
  for (const uint64_t elems : {1u, 1000u}) {
    Cluster cluster(2);
    TestCollective sum({CollectiveKind::kAllReduce, "pull_all", elems}, 7, first_ranks(2));
    Operation* const first = call(cluster, sum, 0);
    engine::Request other = sum.request(1);
    other.signature.op = 3;
    Operation* const second = cluster.engine(1).call(other, 1).value();
    ASSERT_NE(second, nullptr);
    take_turns(cluster);
    for (const Operation* const op : {first, second}) {
      EXPECT_EQ(op->state.load(), OperationState::kFailed);
      EXPECT_EQ(op->error.code, ErrorCode::kInvalidArgument);
    }
    EXPECT_EQ(sum.first_write(), "");
  }
}

// There are so many wide slots to each peer, and records.
TEST(Straight, WhereThereIsNoRoomItGoesOnAsAnOperation) {
  for (const uint64_t elems : {1u, 1000u}) {
    const uint64_t room = elems == 1 ? transport::kRingSlots : transport::kWideSlots;
    Cluster cluster(2);
    std::deque<TestCollective> calls;
    std::vector<Operation*> ops;
    for (uint64_t id = 1; id <= 3 * room; ++id) {
      calls.emplace_back(Spec{CollectiveKind::kBroadcast, "direct", elems}, id, first_ranks(2));
      ops.push_back(call(cluster, calls.back(), 0));
      EXPECT_EQ(ops.back() == nullptr, id <= room) << id;
    }
    take_turns(cluster);  // rank 1 keeps what it has not issued
    for (TestCollective& one : calls) {
      Operation* const op = call(cluster, one, 1);
      take_turns(cluster);
      EXPECT_TRUE(op == nullptr || op->state.load() == OperationState::kDone);
      EXPECT_EQ(one.difference(), "");
    }
    for (const Operation* const op : ops) {
      EXPECT_TRUE(op == nullptr || op->state.load() == OperationState::kDone);
    }
  }
}

TEST(Straight, WithALostRankItIsAnOperationThatFails) {
  Cluster cluster(2);
  cluster.engine(0).lose(Rank{1}, "it is gone");
  TestCollective sum({CollectiveKind::kAllReduce, "pull_all", 1}, 7, first_ranks(2));
  Operation* const op = call(cluster, sum, 0);
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op->state.load(), OperationState::kFailed);
  EXPECT_EQ(op->error.code, ErrorCode::kPeerLost);
}

TEST(Straight, AnAbortedCommunicatorTakesNoMoreCalls) {
  Cluster cluster(2);
  cluster.engine(0).abort(5, first_ranks(2));
  TestCollective sum({CollectiveKind::kBroadcast, "direct", 1}, 7, first_ranks(2));
  engine::Request request = sum.request(0);
  request.group = 5;
  EXPECT_EQ(cluster.engine(0).call(request, 1).error().code, ErrorCode::kAborted);
}

// A root need not wait for the others, but not without limit: when a receiver keeps so much that it
// has not asked for, calls are over only when it has caught up.
TEST(Straight, ACallerThatIsFarAheadWaits) {
  Cluster cluster(2);
  const Spec spec{CollectiveKind::kBroadcast, "direct", 1};
  TestCollective broadcast(spec, 1, first_ranks(2));  // many times: the buffers may be the same
  const auto call_number = [&](uint32_t rank, uint64_t id) {
    engine::Request request = broadcast.request(rank);
    request.id = id;
    return cluster.engine(rank).call(request, 0).value();
  };
  uint64_t sent = 0;
  std::vector<Operation*> held;
  while (held.size() < 10 && sent < 2 * transport::kFarAhead) {
    Operation* const op = call_number(0, ++sent);
    cluster.engine(1).progress();  // it listens, and has not called
    cluster.engine(0).progress();
    if (op != nullptr) held.push_back(op);
  }
  ASSERT_EQ(held.size(), 10u) << "never far ahead";
  EXPECT_GT(sent, transport::kFarAhead);
  for (const Operation* const op : held) EXPECT_EQ(op->state.load(), OperationState::kRunning);
  for (uint64_t id = 1; id <= sent; ++id) (void)call_number(1, id);
  take_turns(cluster);
  for (const Operation* const op : held) EXPECT_EQ(op->state.load(), OperationState::kDone);
  EXPECT_EQ(broadcast.difference(), "");
  EXPECT_EQ(call_number(0, sent + 1), nullptr);
}

// A large packet that is kept for a call to come counts as what it takes.
TEST(Straight, WidePacketsThatAreKeptWeighWhatTheyTake) {
  Cluster cluster(2);
  TestCollective broadcast({CollectiveKind::kBroadcast, "direct", 1000}, 1, first_ranks(2));
  uint64_t sent = 0;
  Operation* held = nullptr;
  while (held == nullptr && sent < transport::kFarAhead) {
    engine::Request request = broadcast.request(0);
    request.id = ++sent;
    held = cluster.engine(0).call(request, 0).value();
    cluster.engine(1).progress();
    cluster.engine(0).progress();
    if (held != nullptr && held->state.load() == OperationState::kDone) held = nullptr;
  }
  ASSERT_NE(held, nullptr);
  EXPECT_LT(sent * transport::kWideBytes, uint64_t{9} << 20);
  EXPECT_GT(sent * transport::kWideBytes, uint64_t{7} << 20);
}

}  // namespace
}  // namespace tutti::test
