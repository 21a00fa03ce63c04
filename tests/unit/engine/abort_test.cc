#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/cluster.h"

namespace tutti::test {
namespace {

using engine::Operation;
using engine::OperationState;
using testing::AllOf;
using testing::HasSubstr;

constexpr uint64_t kGroup = 5;
const std::vector<Rank> kBoth{Rank{0}, Rank{1}};

engine::Request grouped(TestCollective& call, uint32_t place, uint64_t group) {
  engine::Request request = call.request(place);
  request.group = group;
  return request;
}

TEST(Abort, EndsTheOperationsOfOneGroupOnAllMembersAndLeavesOthersAlone) {
  Cluster cluster(2);
  TestCollective small({CollectiveKind::kAllReduce, "ring", 3}, 9, kBoth);
  TestCollective large({CollectiveKind::kAllReduce, "ring", 5000}, 10, kBoth);
  TestCollective other({CollectiveKind::kAllReduce, "ring", 5000}, 11, kBoth);
  Operation* const here = cluster.engine(0).submit(grouped(small, 0, kGroup)).value();
  Operation* const there = cluster.engine(1).submit(grouped(large, 1, kGroup)).value();
  Operation* const kept0 = cluster.engine(0).submit(grouped(other, 0, kGroup + 1)).value();
  Operation* const kept1 = cluster.engine(1).submit(grouped(other, 1, kGroup + 1)).value();
  cluster.engine(0).abort(kGroup, kBoth);
  EXPECT_EQ(here->state.load(), OperationState::kFailed);
  EXPECT_EQ(here->error.code, ErrorCode::kAborted);
  for (int turn = 0; turn < 200; ++turn) {
    for (uint32_t r = 0; r < 2; ++r) cluster.engine(r).progress();
  }
  ASSERT_EQ(there->state.load(), OperationState::kFailed);
  EXPECT_THAT(there->error.message,
              AllOf(HasSubstr("rank 0 aborted"), HasSubstr("all_reduce of 5000")));
  EXPECT_EQ(kept0->state.load(), OperationState::kDone);
  EXPECT_EQ(kept1->state.load(), OperationState::kDone);
  EXPECT_EQ(other.difference(), "");
  const auto later = cluster.engine(1).submit(grouped(small, 1, kGroup));
  ASSERT_FALSE(later.ok());
  EXPECT_EQ(later.error().code, ErrorCode::kAborted);
}

// So many packets that the ring to rank 1 is full, and the abort finds no room in it.
TEST(Abort, IsToldAsSoonAsThereIsRoom) {
  Cluster cluster(2);
  cluster.fill_ring(100);
  TestCollective waits({CollectiveKind::kAllReduce, "ring", 5000}, 9, kBoth);
  cluster.engine(0).abort(kGroup, kBoth);
  cluster.engine(0).progress();
  cluster.engine(1).progress();
  Operation* const op = cluster.engine(1).submit(grouped(waits, 1, kGroup)).value();
  EXPECT_EQ(op->state.load(), OperationState::kRunning);
  cluster.engine(0).progress();
  cluster.engine(1).progress();
  EXPECT_EQ(op->state.load(), OperationState::kFailed);
}

}  // namespace
}  // namespace tutti::test
