// Messages between two ranks, and the all_to_all that is made of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>
#include <string>

#include "tests/unit/comm/on_ranks.h"
#include "tutti/communicator.h"

namespace tutti {
namespace {

using test::numbers;
using test::on_ranks;
using testing::AllOf;
using testing::HasSubstr;

// Packets end at 59 elements, staging at 8192; the last is several tiles.
constexpr uint64_t kMessageCounts[] = {0, 1, 59, 60, 8192, 8193, 100'003};

TEST(SendRecv, MovesAnySizeBothWays) {
  on_ranks(2, [](Communicator& comm) {
    const uint32_t peer = 1 - comm.rank();
    for (const uint64_t count : kMessageCounts) {
      const auto own = numbers(count, 1000 * comm.rank());
      std::vector<int64_t> theirs(count, -1);
      Work both = comm.send(std::span(own), peer);
      both += comm.recv(std::span(theirs), peer);
      ASSERT_TRUE(both.wait());
      ASSERT_EQ(theirs, numbers(count, 1000 * peer));
    }
  });
}

// Every rank sends to every rank, itself included, several messages of each tag and name, and
// issues all of it in an order of its own.
TEST(SendRecv, IsMatchedByPairNameAndTagInAnyOrder) {
  struct Message {
    uint32_t peer, tag, use;
    bool receives;
    std::vector<int64_t> data;
  };
  const auto value = [](uint32_t from, uint32_t to, uint32_t tag, uint32_t use) {
    return int64_t{from} * 1000 + to * 100 + tag * 10 + use;
  };
  on_ranks(4, [&](Communicator& comm) {
    std::vector<Message> messages;
    for (uint32_t peer = 0; peer < comm.num_ranks(); ++peer) {
      for (uint32_t tag = 0; tag < 3; ++tag) {
        for (const bool receives : {false, true}) messages.push_back({peer, tag, 0, receives, {}});
      }
    }
    std::mt19937 random(comm.rank());
    std::vector<Message> all;
    for (uint32_t use = 0; use < 3; ++use) {
      std::shuffle(messages.begin(), messages.end(), random);
      for (Message message : messages) {
        message.use = use;
        all.push_back(message);
      }
    }
    Work works;
    for (Message& m : all) {
      const uint64_t count = m.tag == 1 ? 5000 : 7;
      // Tag 0 is unnamed, tag 1 a number, tag 2 a name.
      const std::string name = m.tag == 2 ? "activations" : "";
      const CallOptions options{.name = name, .tag = m.tag == 1 ? 17u : 0u};
      if (m.receives) {
        m.data.assign(count, -1);
        works += comm.recv(std::span(m.data), m.peer, options);
      } else {
        m.data.assign(count, value(comm.rank(), m.peer, m.tag, m.use));
        works += comm.send(std::span(m.data), m.peer, options);
      }
    }
    ASSERT_TRUE(works.wait());
    for (const Message& m : all) {
      if (!m.receives) continue;
      const int64_t want = value(m.peer, comm.rank(), m.tag, m.use);
      ASSERT_EQ(m.data, std::vector<int64_t>(m.data.size(), want))
          << "from " << m.peer << " to " << comm.rank() << ", tag " << m.tag << ", use " << m.use;
    }
  });
}

TEST(SendRecv, DoesNotCountAsACallOfTheOthers) {
  on_ranks(3, [](Communicator& comm) {
    std::vector<int64_t> data(10, comm.rank());
    Work message;
    if (comm.rank() == 0) message = comm.send(std::span(data), 1);
    std::vector<int64_t> sum(10, 1);
    if (comm.rank() == 1) message = comm.recv(std::span(data), 0);
    ASSERT_TRUE(comm.all_reduce(std::span(sum)).wait());
    ASSERT_TRUE(message.wait());
    EXPECT_EQ(sum[9], 3);
  });
}

// Beyond what is copied at once, the sender waits and hears of it too.
TEST(SendRecv, OfDifferentSizeOrTypeIsAnErrorAtBothEnds) {
  on_ranks(3, [](Communicator& comm) {
    std::vector<int64_t> data(20'000 + comm.rank(), 7);
    if (comm.rank() == 0) return;
    const Status sizes = comm.rank() == 1 ? comm.send(std::span(data), 2).wait()
                                          : comm.recv(std::span(data), 1).wait();
    ASSERT_FALSE(sizes.ok());
    EXPECT_EQ(sizes.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(sizes.error().message,
                AllOf(HasSubstr("rank 1 called send_recv of 20001 int64 from rank 1"),
                      HasSubstr("rank 2 called send_recv of 20002 int64 from rank 1")));
    EXPECT_EQ(data[0], 7);
    std::vector<float> floats(20'001);
    const Status types = comm.rank() == 1
                             ? comm.send(std::span(floats), 2).wait()
                             : comm.recv(std::span<int64_t>(data).first(20'001), 1).wait();
    ASSERT_FALSE(types.ok());
    EXPECT_THAT(types.error().message, AllOf(HasSubstr("float32"), HasSubstr("int64")));
  });
}

TEST(SendRecv, OfASmallMessageOfAnotherSizeIsTheReceiversError) {
  on_ranks(2, [](Communicator& comm) {
    std::vector<int64_t> data(3 + comm.rank(), 7);
    if (comm.rank() == 0) {
      EXPECT_TRUE(comm.send(std::span(data), 1).wait());
    } else {
      const Status status = comm.recv(std::span(data), 0).wait();
      ASSERT_FALSE(status.ok());
      EXPECT_THAT(status.error().message, HasSubstr("of 3 int64"));
    }
  });
}

TEST(SendRecv, ToOneselfMeetsWhicheverEndComesFirst) {
  on_ranks(1, [](Communicator& comm) {
    const auto data = numbers(1000, 5);
    std::vector<int64_t> got(1000);
    Work late = comm.recv(std::span(got), 0, {.name = "a"});
    EXPECT_FALSE(late.test());
    ASSERT_TRUE(comm.send(std::span(data), 0, {.name = "a"}).wait());
    ASSERT_TRUE(late.wait());
    EXPECT_EQ(got, data);
    Work early = comm.send(std::span(data).first(2), 0);
    const Status status = comm.recv(std::span(got).first(3), 0).wait();
    EXPECT_THAT(status.error().message, AllOf(HasSubstr("2 int64"), HasSubstr("3 int64")));
    EXPECT_FALSE(early.wait().ok());
    Work never = comm.recv(std::span(got), 0, {.deadline = std::chrono::milliseconds(1)});
    EXPECT_EQ(never.wait().error().code, ErrorCode::kDeadline);
  });
}

TEST(SendRecv, IsRefusedToARankThatDoesNotExist) {
  on_ranks(2, [](Communicator& comm) {
    std::vector<float> data(2);
    EXPECT_THAT(comm.send(std::span(data), 2).wait().error().message,
                HasSubstr("peer 2 of 2 ranks"));
    EXPECT_FALSE(comm.recv(std::span(data), 9).wait().ok());
  });
}

// From rank i to rank j go as many as this says: some none, some packets, some tiles.
uint64_t count_of(uint32_t from, uint32_t to) {
  constexpr uint64_t kSizes[] = {0, 1, 58, 61, 700, 9000, 40'000};
  return kSizes[(from * 5 + to * 3) % 7];
}

class AllToAllCounts : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Ranks, AllToAllCounts, testing::Values(1, 2, 3, 5, 8));

TEST_P(AllToAllCounts, OnlyOwnOnesAreKnown) {
  on_ranks(GetParam(), [](Communicator& comm) {
    std::vector<uint64_t> sends;
    std::vector<uint64_t> receives;
    std::vector<int64_t> in;
    std::vector<int64_t> want;
    for (uint32_t r = 0; r < comm.num_ranks(); ++r) {
      sends.push_back(count_of(comm.rank(), r));
      receives.push_back(count_of(r, comm.rank()));
      const auto out = numbers(sends[r], 1'000'000 * comm.rank() + 100'000 * r);
      const auto back = numbers(receives[r], 1'000'000 * r + 100'000 * comm.rank());
      in.insert(in.end(), out.begin(), out.end());
      want.insert(want.end(), back.begin(), back.end());
    }
    std::vector<int64_t> got(want.size(), -1);
    ASSERT_TRUE(comm.all_to_all(std::span<const int64_t>(in), std::span(got),
                                std::span<const uint64_t>(sends),
                                std::span<const uint64_t>(receives))
                    .wait());
    ASSERT_EQ(got, want);
  });
}

TEST(UnevenCounts, ThatDifferAreAnErrorOnTheTwoRanks) {
  on_ranks(3, [](Communicator& comm) {
    std::vector<uint64_t> sends(3, 20'000);
    std::vector<uint64_t> receives(3, 20'000);
    if (comm.rank() == 2) receives[1] = 20'001;
    std::vector<float> in(60'000);
    std::vector<float> out(comm.rank() == 2 ? 60'001 : 60'000);
    const Status status =
        comm.all_to_all(std::span<const float>(in), std::span(out),
                        std::span<const uint64_t>(sends), std::span<const uint64_t>(receives))
            .wait();
    ASSERT_EQ(status.ok(), comm.rank() == 0);
    if (!status.ok()) {
      EXPECT_THAT(status.error().message, AllOf(HasSubstr("20000"), HasSubstr("20001")));
    }
  });
}

TEST(UnevenCounts, ThatCannotBeAreRefused) {
  on_ranks(2, [](Communicator& comm) {
    std::vector<float> in(4);
    std::vector<float> out(4);
    const auto refusal = [&](std::vector<uint64_t> sends, std::vector<uint64_t> receives) {
      return comm
          .all_to_all(std::span<const float>(in), std::span(out), std::span<const uint64_t>(sends),
                      std::span<const uint64_t>(receives))
          .wait()
          .error()
          .message;
    };
    EXPECT_THAT(refusal({4}, {2, 2}), HasSubstr("1 counts for 2 ranks"));
    EXPECT_THAT(refusal({2, 3}, {2, 3}), HasSubstr("by the counts input has 5 elements"));
    EXPECT_THAT(refusal({2, 2}, {1, 3}), HasSubstr("to itself"));
    EXPECT_THAT(refusal({UINT64_MAX, 5}, {2, 2}), HasSubstr("overflow"));
  });
}

TEST(UnevenCounts, OfGatherAndScatterMayDiffer) {
  on_ranks(5, [](Communicator& comm) {
    const std::vector<uint64_t> counts{0, 3, 9000, 60, 1};
    const uint64_t sum = 9064;
    const uint32_t root = 3;
    const auto begin = std::accumulate(counts.begin(), counts.begin() + comm.rank(), int64_t{0});
    const auto own = numbers(counts[comm.rank()], begin);
    std::vector<int64_t> all(comm.rank() == root ? sum : 0);
    ASSERT_TRUE(
        comm.gather(std::span(own), std::span(all), std::span(counts), {.root = root}).wait());
    if (comm.rank() == root) {
      ASSERT_EQ(all, numbers(sum, 0));
    }
    std::vector<int64_t> back(own.size());
    ASSERT_TRUE(comm.scatter(std::span<const int64_t>(all), std::span(back), std::span(counts),
                             {.root = root})
                    .wait());
    ASSERT_EQ(back, own);
  });
}

TEST(Works, AddUpToOneAndTellTheFirstError) {
  on_ranks(2, [](Communicator& comm) {
    std::vector<float> a(100, 1);
    std::vector<float> b(30'000, 1);
    Work all;
    EXPECT_TRUE(all.test());
    all += comm.all_reduce(std::span(a), {.name = "a"});
    all += comm.all_reduce(std::span(b), {.op = Op::kBitAnd});
    all += comm.all_reduce(std::span(b), {.name = "b"});
    all += comm.all_reduce(std::span(b), {.op = Op::kBitOr});
    const Status status = all.wait();
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().message, HasSubstr("band is not defined"));
    EXPECT_EQ(a[99], 2);
    EXPECT_EQ(b[29'999], 2);
    EXPECT_FALSE(all.wait().ok());
  });
}

TEST(Works, CanBeWaitedForAWhile) {
  on_ranks(2, [](Communicator& comm) {
    std::vector<float> data(100, 1);
    if (comm.rank() == 1) {
      ASSERT_TRUE(comm.recv(std::span(data), 0, {.name = "go"}).wait());
    }
    Work work = comm.all_reduce(std::span(data), {.name = "sum"});
    if (comm.rank() == 0) {
      EXPECT_FALSE(work.wait_for(std::chrono::microseconds(10)));
      const std::vector<float> go(100, 1);
      ASSERT_TRUE(comm.send(std::span(go), 1, {.name = "go"}).wait());
    }
    EXPECT_TRUE(work.wait_for(std::chrono::hours(1)));
    EXPECT_TRUE(work.wait());
    EXPECT_EQ(data[0], 2);
  });
}

}  // namespace
}  // namespace tutti
