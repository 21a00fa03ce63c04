// How far a caller runs ahead of the ranks that read what it sent.
#include <gtest/gtest.h>

#include <functional>

#include "base/clock.h"
#include "engine/cpu/engine.h"
#include "tests/support/cluster.h"

namespace tutti::test {
namespace {

using engine::Operation;
using engine::OperationState;

// So large that the ring to a reader that is away is never full.
constexpr uint64_t kMessageBytes = uint64_t{512} << 10;
constexpr uint64_t kMessagesAhead = engine::kAheadBytes / kMessageBytes;
constexpr uint64_t kMessagesFarAhead = engine::kFarAheadBytes / kMessageBytes;

bool is_done(const Operation* op) { return op->state.load() == OperationState::kDone; }

// Broadcasts of rank 0, one after the other. The others read them when the test says so.
class RunAhead : public testing::Test {
 protected:
  Operation* submit(uint32_t rank, uint64_t id) {
    engine::Request request = broadcast_.request(rank);
    request.id = id;
    return cluster_.engine(rank).submit(request).value();
  }
  // Sends until a call does not end by itself, or so many were sent in all.
  Operation* send_until_held(uint64_t most) {
    Operation* op = nullptr;
    do {
      op = submit(0, ++num_sent_);
      // Where every preemption point is taken it needs a few turns.
      for (int turn = 0; turn < 16 && !is_done(op); ++turn) cluster_.engine(0).progress();
    } while (is_done(op) && num_sent_ < most);
    return op;
  }
  // All that was sent; word of it may not have left rank 0 yet.
  void read(uint32_t rank) {
    for (uint64_t& id = num_read_[rank]; id < num_sent_;) submit(rank, ++id);
    run_until([&] { return cluster_.engine(rank).num_under_way() == 0; }, rank);
  }
  void run_until(const std::function<bool()>& is_over, uint32_t reader) {
    for (int turn = 0; turn < 100'000 && !is_over(); ++turn) {
      cluster_.engine(0).progress();
      cluster_.engine(reader).progress();
    }
    ASSERT_TRUE(is_over());
  }
  // As a caller that waits, for much longer than it is patient.
  bool is_done_later(const Operation* op) {
    const uint64_t end = base::now_ns() + 20 * engine::kReaderPatienceNs;
    while (!is_done(op) && base::now_ns() < end) cluster_.engine(0).progress();
    return is_done(op);
  }

  Cluster cluster_{3, Reach::kProcesses};
  // All of them: the buffers may be the same, since the contents are.
  TestCollective broadcast_{
      {CollectiveKind::kBroadcast, "direct", kMessageBytes / 8}, 1, first_ranks(3)};
  uint64_t num_sent_ = 0;
  uint64_t num_read_[3] = {};
};

TEST_F(RunAhead, ACallerWaitsForReadersThatAreAllBehind) {
  const Operation* const held = send_until_held(2 * kMessagesAhead);
  EXPECT_EQ(num_sent_, kMessagesAhead + 1);
  EXPECT_FALSE(is_done_later(held));
}

TEST_F(RunAhead, OneReaderThatIsAwayDoesNotHoldUpTheOthers) {
  const Operation* const held = send_until_held(2 * kMessagesAhead);
  read(1);
  EXPECT_TRUE(is_done_later(held));
  const Operation* const held_again = send_until_held(2 * kMessagesFarAhead);
  EXPECT_EQ(num_sent_, kMessagesFarAhead + 1);
  read(1);
  EXPECT_FALSE(is_done_later(held_again));
}

TEST_F(RunAhead, AReaderThatHasCaughtUpIsWaitedForAgain) {
  const Operation* const first = send_until_held(2 * kMessagesAhead);
  read(1);
  ASSERT_TRUE(is_done_later(first));
  const Operation* const held = send_until_held(2 * kMessagesFarAhead);
  read(1);
  read(2);
  EXPECT_TRUE(is_done_later(held));
  EXPECT_EQ(broadcast_.difference(), "");
  run_until([&] { return cluster_.engine(0).num_under_way() == 0; }, 2);
  const uint64_t before = num_sent_;
  EXPECT_FALSE(is_done(send_until_held(before + 2 * kMessagesAhead)));
  EXPECT_EQ(num_sent_ - before, kMessagesAhead + 1);
}

}  // namespace
}  // namespace tutti::test
