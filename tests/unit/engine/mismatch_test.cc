#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/cluster.h"

namespace tutti::test {
namespace {

using engine::Operation;
using engine::OperationState;
using testing::AllOf;
using testing::HasSubstr;

void run_all(Cluster& cluster) {
  for (int turn = 0; turn < 200; ++turn) {
    for (uint32_t r = 0; r < cluster.num_ranks(); ++r) cluster.engine(r).progress();
  }
}

// Rank 2 calls with another count; all others are right. Small calls go by packets, large ones
// through memory.
class Mismatch : public testing::TestWithParam<uint64_t> {};

TEST_P(Mismatch, IsAnErrorOnEveryRankAndWritesNothing) {
  Cluster cluster(4);
  TestCollective right({CollectiveKind::kAllReduce, "ring", GetParam()}, 77, first_ranks(4));
  TestCollective wrong({CollectiveKind::kAllReduce, "ring", GetParam() + 1}, 77, first_ranks(4));
  std::vector<Operation*> ops;
  for (uint32_t r = 0; r < 4; ++r) {
    ops.push_back(cluster.engine(r).submit((r == 2 ? wrong : right).request(r)).value());
  }
  run_all(cluster);
  for (uint32_t r = 0; r < 4; ++r) {
    ASSERT_EQ(ops[r]->state.load(), OperationState::kFailed) << "rank " << r;
    EXPECT_EQ(ops[r]->error.code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(ops[r]->error.message,
                AllOf(HasSubstr("rank 2 called all_reduce of " + std::to_string(GetParam() + 1)),
                      HasSubstr("called all_reduce of " + std::to_string(GetParam()) + " ")));
  }
  EXPECT_EQ(right.first_write(), "");
  EXPECT_EQ(wrong.first_write(), "");
}
INSTANTIATE_TEST_SUITE_P(Sizes, Mismatch, testing::Values(3, 5000));

TEST(KindMismatch, NamesBoth) {
  Cluster cluster(2);
  TestCollective one({CollectiveKind::kAllGather, "ring", 8}, 5, first_ranks(2));
  TestCollective other({CollectiveKind::kBroadcast, "binomial", 8}, 5, first_ranks(2));
  Operation* const a = cluster.engine(0).submit(one.request(0)).value();
  Operation* const b = cluster.engine(1).submit(other.request(1)).value();
  run_all(cluster);
  ASSERT_EQ(b->state.load(), OperationState::kFailed);
  ASSERT_EQ(a->state.load(), OperationState::kFailed);
  EXPECT_THAT(b->error.message,
              AllOf(HasSubstr("all_gather of 8 int64"), HasSubstr("broadcast of 8")));
}

TEST(LostRank, FailsWhatNeedsItNowAndLater) {
  Cluster cluster(3);
  TestCollective first({CollectiveKind::kAllReduce, "ring", 5000}, 9, first_ranks(3));
  TestCollective second({CollectiveKind::kAllReduce, "ring", 10}, 10, first_ranks(3));
  TestCollective without({CollectiveKind::kAllReduce, "ring", 10}, 11, first_ranks(2));
  Operation* const op = cluster.engine(0).submit(first.request(0)).value();
  cluster.engine(0).lose(Rank{2}, "its process 4711 has ended");
  ASSERT_EQ(op->state.load(), OperationState::kFailed);
  EXPECT_EQ(op->error.code, ErrorCode::kPeerLost);
  EXPECT_THAT(op->error.message, AllOf(HasSubstr("rank 2 is lost"), HasSubstr("4711")));
  Operation* const later = cluster.engine(0).submit(second.request(0)).value();
  ASSERT_EQ(later->state.load(), OperationState::kFailed);
  EXPECT_EQ(later->error.code, ErrorCode::kPeerLost);
  Operation* const one = cluster.engine(0).submit(without.request(0)).value();
  Operation* const other = cluster.engine(1).submit(without.request(1)).value();
  run_all(cluster);
  EXPECT_EQ(one->state.load(), OperationState::kDone);
  EXPECT_EQ(other->state.load(), OperationState::kDone);
}

// Rank 2 has sent all that it had to before it went.
TEST(LostRank, DoesNotFailWhatItHasDoneItsPartOf) {
  Cluster cluster(3);
  TestCollective call({CollectiveKind::kGather, "direct", 9}, 9, first_ranks(3));
  Operation* const two = cluster.engine(2).submit(call.request(2)).value();
  EXPECT_EQ(two->state.load(), OperationState::kDone);
  cluster.engine(0).lose(Rank{2}, "its process 4711 has ended");
  Operation* const root = cluster.engine(0).submit(call.request(0)).value();
  EXPECT_EQ(root->state.load(), OperationState::kRunning);
  EXPECT_TRUE(cluster.engine(1).submit(call.request(1)).ok());
  run_all(cluster);
  EXPECT_EQ(root->state.load(), OperationState::kDone);
  EXPECT_EQ(call.difference(), "");
}

// Rank 1 has heard nothing of the loss yet; it waits for rank 0, which cannot go on.
TEST(LostRank, IsToldToRanksThatWaitForOthers) {
  Cluster cluster(3);
  TestCollective call({CollectiveKind::kAllReduce, "ring", 5000}, 9, first_ranks(3));
  Operation* const one = cluster.engine(1).submit(call.request(1)).value();
  Operation* const zero = cluster.engine(0).submit(call.request(0)).value();
  cluster.engine(0).lose(Rank{2}, "its process 4711 has ended");
  run_all(cluster);
  EXPECT_EQ(zero->state.load(), OperationState::kFailed);
  ASSERT_EQ(one->state.load(), OperationState::kFailed);
  EXPECT_THAT(one->error.message, HasSubstr("rank 2 is lost"));
}

TEST(GivenUp, IsKnownToPeers) {
  Cluster cluster(2);
  TestCollective call({CollectiveKind::kAllReduce, "ring", 5000}, 9, first_ranks(2));
  Operation* const op = cluster.engine(0).submit(call.request(0)).value();
  cluster.engine(0).give_up(op, ErrorCode::kDeadline);
  EXPECT_EQ(op->error.code, ErrorCode::kDeadline);
  Operation* const peer = cluster.engine(1).submit(call.request(1)).value();
  run_all(cluster);
  ASSERT_EQ(peer->state.load(), OperationState::kFailed);
  EXPECT_THAT(peer->error.message, HasSubstr("rank 0 gave up"));
}

// Rank 1's ring is full of packets for operations that it has not issued, and it does not run.
TEST(GivenUp, IsToldAsSoonAsThereIsRoom) {
  Cluster cluster(2);
  cluster.fill_ring(100);
  TestCollective late({CollectiveKind::kAllReduce, "ring", 5000}, 9, first_ranks(2));
  Operation* const here = cluster.engine(0).submit(late.request(0)).value();
  cluster.engine(0).give_up(here, ErrorCode::kDeadline);
  Operation* const there = cluster.engine(1).submit(late.request(1)).value();
  run_all(cluster);
  EXPECT_EQ(here->state.load(), OperationState::kFailed);
  ASSERT_EQ(there->state.load(), OperationState::kFailed);
  EXPECT_EQ(there->error.code, ErrorCode::kDeadline);
}

// The ring to the lost rank is full, and never will be emptied.
TEST(LostRank, HoldsUpNobodyWhoHasAllOfIt) {
  Cluster cluster(2);
  cluster.fill_ring(100);
  TestCollective last({CollectiveKind::kBarrier, "direct", 0}, 9, first_ranks(2));
  ASSERT_TRUE(cluster.engine(1).submit(last.request(1)).ok());
  Operation* const op = cluster.engine(0).submit(last.request(0)).value();
  const auto run_survivor = [&] {
    for (int turn = 0; turn < 20; ++turn) cluster.engine(0).progress();
  };
  run_survivor();
  EXPECT_EQ(op->state.load(), OperationState::kRunning) << "there is room for its packet";
  cluster.engine(0).lose(Rank{1}, "the test says so");
  run_survivor();
  EXPECT_EQ(op->state.load(), OperationState::kDone);
}

// A sender that need not wait is content before its receiver calls, with another count.
TEST(DoneSender, KeepsNothingForAReceiverThatDisagrees) {
  Cluster cluster(2);
  TestCollective right({CollectiveKind::kSendRecv, "direct", 3000}, 9, first_ranks(2));
  TestCollective wrong({CollectiveKind::kSendRecv, "direct", 3001}, 9, first_ranks(2));
  Operation* const sent = cluster.engine(0).submit(right.request(0)).value();
  EXPECT_EQ(sent->state.load(), OperationState::kDone);
  Operation* const received = cluster.engine(1).submit(wrong.request(1)).value();
  run_all(cluster);
  EXPECT_EQ(received->state.load(), OperationState::kFailed);
  for (uint32_t r = 0; r < 2; ++r) {
    EXPECT_EQ(cluster.engine(r).num_under_way(), 0u);
    EXPECT_EQ(cluster.engine(r).endpoint().arena().used(), 0u);
  }
}

}  // namespace
}  // namespace tutti::test
