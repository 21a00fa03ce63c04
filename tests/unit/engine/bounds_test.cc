// What an engine keeps is bounded by what its own rank has under way, whatever peers do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "engine/cpu/hello.h"
#include "engine/cpu/recent_ids.h"
#include "tests/support/cluster.h"
#include "tests/support/sanitized.h"

namespace tutti::test {
namespace {

using engine::Operation;
using engine::OperationState;
using testing::HasSubstr;
using transport::RecordKind;

void give_turns(Cluster& cluster, int num = 50) {
  for (int turn = 0; turn < num; ++turn) {
    for (uint32_t r = 0; r < cluster.num_ranks(); ++r) cluster.engine(r).progress();
  }
}

// A collective on all ranks, from the call to the release.
void run_once(Cluster& cluster, const TestCollective::Spec& spec, uint64_t id) {
  TestCollective call(spec, id, first_ranks(cluster.num_ranks()));
  std::vector<Operation*> ops;
  for (uint32_t r = 0; r < cluster.num_ranks(); ++r) {
    ops.push_back(cluster.engine(r).submit(call.request(r)).value());
  }
  give_turns(cluster);
  for (Operation* const op : ops) {
    ASSERT_EQ(op->state.load(), OperationState::kDone);
    engine::Engine::release(op);
  }
}

void put(Cluster& cluster, Rank from, Rank to, RecordKind kind, uint64_t operation) {
  transport::RingWriter& ring = cluster.engine(from.value).endpoint().to(to);
  if (ring.reserve() == nullptr) cluster.engine(to.value).progress();
  transport::Record* const record = ring.reserve();
  ASSERT_NE(record, nullptr);
  record->header = {operation, {}, 0, 0, sizeof(engine::Failure)};
  const engine::Failure failure{static_cast<uint32_t>(ErrorCode::kDeadline), from.value, 0, 0, {}};
  std::memcpy(record->payload.data(), &failure, sizeof failure);
  ring.publish(kind);
}

TEST(Bounds, OperationsThatCompleteLeaveNothingThatGrows) {
  Cluster cluster(3, Reach::kProcesses);
  const TestCollective::Spec specs[] = {{CollectiveKind::kAllReduce, "one_shot", 3},
                                        {CollectiveKind::kAllReduce, "ring", 5000},
                                        {CollectiveKind::kBroadcast, "direct", 2000}};
  uint64_t id = 1;
  const auto round = [&] {
    for (const auto& spec : specs) run_once(cluster, spec, ++id);
  };
  for (int warm = 0; warm < 3; ++warm) round();
  const engine::EngineStock before = cluster.engine(1).stock();
  const size_t touched = cluster.engine(1).endpoint().arena().touched();
  for (int i = 0; i < (kSanitized ? 30 : 300); ++i) round();
  const engine::EngineStock after = cluster.engine(1).stock();
  EXPECT_EQ(after.operations, before.operations);
  EXPECT_EQ(after.early_records, before.early_records);
  EXPECT_EQ(after.early_records_held, 0u);
  EXPECT_EQ(cluster.engine(1).endpoint().arena().touched(), touched);
  EXPECT_EQ(cluster.engine(1).num_under_way(), 0u);
}

TEST(Bounds, AProgramIsInUseWhileItsOperationIsUnderWay) {
  Cluster cluster(2);
  TestCollective call({CollectiveKind::kAllReduce, "ring", 5000}, 9, first_ranks(2));
  const engine::BoundProgram& program = *call.request(0).program;
  ASSERT_TRUE(cluster.engine(0).submit(call.request(0)).ok());
  EXPECT_TRUE(program.uses.any());
  ASSERT_TRUE(cluster.engine(1).submit(call.request(1)).ok());
  give_turns(cluster);
  EXPECT_FALSE(program.uses.any());
}

// Rank 0 gives up before the others call; what they send it afterwards is for nobody.
TEST(Bounds, LateRecordsOfAFailedOperationAreNotKept) {
  for (const uint64_t elems : {3u, 5000u}) {
    Cluster cluster(3);
    for (uint64_t id = 1; id <= 100; ++id) {
      TestCollective call({CollectiveKind::kAllReduce, "ring", elems}, id, first_ranks(3));
      Operation* const first = cluster.engine(0).submit(call.request(0)).value();
      Operation* const second = cluster.engine(1).submit(call.request(1)).value();
      cluster.engine(0).give_up(first, ErrorCode::kDeadline);
      Operation* const third = cluster.engine(2).submit(call.request(2)).value();
      give_turns(cluster);
      ASSERT_EQ(second->state.load(), OperationState::kFailed);
      ASSERT_EQ(third->state.load(), OperationState::kFailed);
    }
    for (uint32_t r = 0; r < 3; ++r) {
      EXPECT_EQ(cluster.engine(r).stock().early_records_held, 0u) << "rank " << r;
    }
  }
}

// Rank 2 never calls, and rank 1 gives up: rank 0, which had done its part, keeps nothing.
TEST(Bounds, AFailureElsewhereFreesWhatADoneRankKeptForItsReaders) {
  Cluster cluster(3, Reach::kProcesses);
  TestCollective call({CollectiveKind::kBroadcast, "direct", 5000}, 9, first_ranks(3));
  Operation* const root = cluster.engine(0).submit(call.request(0)).value();
  Operation* const reader = cluster.engine(1).submit(call.request(1)).value();
  ASSERT_EQ(root->state.load(), OperationState::kDone);
  EXPECT_GT(cluster.engine(0).endpoint().arena().used(), 0u);
  cluster.engine(1).give_up(reader, ErrorCode::kDeadline);
  give_turns(cluster);
  EXPECT_EQ(cluster.engine(0).endpoint().arena().used(), 0u);
  EXPECT_EQ(cluster.engine(0).num_under_way(), 0u);
  Operation* const late = cluster.engine(2).submit(call.request(2)).value();
  give_turns(cluster);
  EXPECT_EQ(late->state.load(), OperationState::kFailed);
}

TEST(Bounds, AnAbortFreesWhatADoneRankKeptForItsReaders) {
  Cluster cluster(3, Reach::kProcesses);
  TestCollective call({CollectiveKind::kBroadcast, "direct", 5000}, 9, first_ranks(3));
  engine::Request request = call.request(0);
  request.group = 7;
  ASSERT_EQ(cluster.engine(0).submit(request).value()->state.load(), OperationState::kDone);
  cluster.engine(1).abort(7, first_ranks(3));
  give_turns(cluster);
  EXPECT_EQ(cluster.engine(0).endpoint().arena().used(), 0u);
}

TEST(Bounds, FailuresOfOperationsThatAreNeverIssuedAreForgottenInTime) {
  Cluster cluster(2);
  for (uint64_t i = 1; i <= 2 * engine::kMostFailedElsewhere; ++i) {
    put(cluster, Rank{0}, Rank{1}, RecordKind::kFailed, i * 0x9E3779B97F4A7C15u);
  }
  cluster.engine(1).progress();
  EXPECT_EQ(cluster.engine(1).stock().early_records_held, engine::kMostFailedElsewhere);
}

TEST(Bounds, APeerWithTooManyRecordsThatNobodyWantsIsLost) {
  Cluster cluster(3);
  TestCollective call({CollectiveKind::kAllReduce, "ring", 10}, UINT64_MAX, first_ranks(3));
  Operation* const op = cluster.engine(1).submit(call.request(1)).value();
  const uint64_t most = engine::kMostEarlyRecords + transport::kRingSlots / 2 - 1;  // left there
  for (uint64_t id = 1; id <= most; ++id) put(cluster, Rank{0}, Rank{1}, RecordKind::kPacket, id);
  cluster.engine(1).progress();
  EXPECT_EQ(op->state.load(), OperationState::kRunning);
  put(cluster, Rank{0}, Rank{1}, RecordKind::kPacket, most + 1);
  cluster.engine(1).progress();
  ASSERT_EQ(op->state.load(), OperationState::kFailed);
  EXPECT_EQ(op->error.code, ErrorCode::kPeerLost);
  EXPECT_THAT(op->error.message, HasSubstr("rank 0 is lost"));
  EXPECT_THAT(op->error.message, HasSubstr("not issued here"));
  EXPECT_EQ(cluster.engine(1).stock().early_records, engine::kMostEarlyRecords);
}

TEST(Bounds, APeerThatAbortsEverythingIsLost) {
  Cluster cluster(2);
  for (uint64_t group = 1; group <= engine::kMostAborts + 1; ++group) {
    put(cluster, Rank{0}, Rank{1}, RecordKind::kAbort, group);
  }
  cluster.engine(1).progress();
  TestCollective call({CollectiveKind::kAllReduce, "ring", 10}, 9, first_ranks(2));
  Operation* const op = cluster.engine(1).submit(call.request(1)).value();
  ASSERT_EQ(op->state.load(), OperationState::kFailed);
  EXPECT_THAT(op->error.message, HasSubstr("aborted more than"));
}

// Rank 2 speaks of an operation and of a communicator that it has no part in.
TEST(Bounds, WhoIsNotAMemberHasNoSay) {
  Cluster cluster(3);
  TestCollective call({CollectiveKind::kAllReduce, "ring", 5000}, 9, first_ranks(2));
  engine::Request request = call.request(0);
  request.group = 7;
  Operation* const op = cluster.engine(0).submit(request).value();
  for (const RecordKind kind : {RecordKind::kFailed, RecordKind::kPacket, RecordKind::kHello}) {
    put(cluster, Rank{2}, Rank{0}, kind, 9);
  }
  put(cluster, Rank{2}, Rank{0}, RecordKind::kAbort, 7);
  cluster.engine(0).progress();
  EXPECT_EQ(op->state.load(), OperationState::kRunning);
  EXPECT_EQ(cluster.engine(0).aborter_of(7, first_ranks(2)), kNoRank);
  ASSERT_TRUE(cluster.engine(1).submit(call.request(1)).ok());
  give_turns(cluster);
  EXPECT_EQ(op->state.load(), OperationState::kDone);
  EXPECT_EQ(call.difference(), "");
}

TEST(RecentIds, ForgetsTheOldestWhenItIsFull) {
  engine::RecentIds ids(3);
  for (const uint64_t id : {10u, 11u, 12u, 11u}) EXPECT_FALSE(ids.add(id));
  EXPECT_EQ(ids.add(13), 10u);
  EXPECT_FALSE(ids.has(10));
  EXPECT_TRUE(ids.has(11) && ids.has(12) && ids.has(13));
  EXPECT_EQ(ids.add(14), 11u);
  EXPECT_EQ(ids.size(), 3u);
}

}  // namespace
}  // namespace tutti::test
