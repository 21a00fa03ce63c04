// Communicators as a user has them: a thread a rank, every collective, sizes around every limit.
#include "tutti/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <string>

#include "tests/unit/comm/on_ranks.h"

namespace tutti {
namespace {

using test::numbers;
using test::on_ranks;
using testing::AllOf;
using testing::HasSubstr;

// Packets end at 59 elements of 8 bytes, staging of inputs at 8192; tiles at 32768.
constexpr uint64_t kCounts[] = {0, 1, 2, 7, 59, 60, 1000, 8192, 8193, 70'001};
constexpr uint32_t kRanks[] = {1, 2, 3, 4, 5, 7, 8};

class EveryRankCount : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Ranks, EveryRankCount, testing::ValuesIn(kRanks));

TEST_P(EveryRankCount, AllReduces) {
  on_ranks(GetParam(), [](Communicator& comm) {
    const int64_t n = comm.num_ranks();
    for (const uint64_t count : kCounts) {
      std::vector<int64_t> data = numbers(count, comm.rank());
      std::vector<int64_t> out(count, -1);
      ASSERT_TRUE(comm.all_reduce(std::span<const int64_t>(data), std::span(out)).wait());
      ASSERT_TRUE(comm.all_reduce(std::span(data)).wait());
      for (uint64_t i = 0; i < count; ++i) {
        const int64_t want = n * static_cast<int64_t>(i) + n * (n - 1) / 2;
        ASSERT_EQ(data[i], want) << count << " elements, in place, element " << i;
        ASSERT_EQ(out[i], want) << count << " elements, element " << i;
      }
    }
  });
}

TEST_P(EveryRankCount, BroadcastsAndReducesFromEveryRoot) {
  on_ranks(GetParam(), [](Communicator& comm) {
    const int64_t n = comm.num_ranks();
    for (const uint64_t count : kCounts) {
      for (uint32_t root = 0; root < comm.num_ranks(); ++root) {
        auto data = numbers(count, 1000 * comm.rank());
        ASSERT_TRUE(comm.broadcast(std::span(data), {.root = root}).wait());
        ASSERT_EQ(data, numbers(count, 1000 * root));
        std::vector<int64_t> sum(comm.rank() == root ? count : 0);
        ASSERT_TRUE(
            comm.reduce(std::span<const int64_t>(data), std::span(sum), {.root = root}).wait());
        for (uint64_t i = 0; i < sum.size(); ++i) ASSERT_EQ(sum[i], n * data[i]);
      }
    }
  });
}

TEST_P(EveryRankCount, GathersAndScatters) {
  on_ranks(GetParam(), [](Communicator& comm) {
    const uint64_t n = comm.num_ranks();
    for (const uint64_t count : kCounts) {
      const auto own = numbers(count, static_cast<int64_t>(comm.rank() * count));
      std::vector<int64_t> all(n * count);
      ASSERT_TRUE(comm.all_gather(std::span(own), std::span(all)).wait());
      ASSERT_EQ(all, numbers(n * count, 0));
      std::vector<int64_t> part(count);
      ASSERT_TRUE(comm.reduce_scatter(std::span<const int64_t>(all), std::span(part)).wait());
      for (uint64_t i = 0; i < count; ++i) ASSERT_EQ(part[i], static_cast<int64_t>(n) * own[i]);
      const uint32_t root = static_cast<uint32_t>(n - 1);
      std::vector<int64_t> gathered(comm.rank() == root ? n * count : 0);
      ASSERT_TRUE(comm.gather(std::span(own), std::span(gathered), {.root = root}).wait());
      if (comm.rank() == root) {
        ASSERT_EQ(gathered, all);
      }
      std::vector<int64_t> back(count);
      ASSERT_TRUE(
          comm.scatter(std::span<const int64_t>(gathered), std::span(back), {.root = root}).wait());
      ASSERT_EQ(back, own);
      ASSERT_TRUE(comm.barrier().wait());
    }
  });
}

TEST_P(EveryRankCount, ExchangesAllToAll) {
  on_ranks(GetParam(), [](Communicator& comm) {
    const uint64_t n = comm.num_ranks();
    for (const uint64_t count : {1u, 8u, 60u, 9000u}) {
      std::vector<int64_t> in(n * count);
      for (uint64_t i = 0; i < in.size(); ++i) {
        in[i] = static_cast<int64_t>(comm.rank() * 1'000'000 + i);
      }
      std::vector<int64_t> out(n * count);
      ASSERT_TRUE(comm.all_to_all(std::span<const int64_t>(in), std::span(out)).wait());
      for (uint64_t i = 0; i < out.size(); ++i) {
        const uint64_t from = i / count;
        ASSERT_EQ(out[i], static_cast<int64_t>(from * 1'000'000 + comm.rank() * count + i % count));
      }
    }
  });
}

TEST_P(EveryRankCount, GathersUnevenCounts) {
  on_ranks(GetParam(), [](Communicator& comm) {
    std::vector<uint64_t> counts;
    for (uint64_t r = 0; r < comm.num_ranks(); ++r) counts.push_back(r * r * 700 % 3001);
    const uint64_t sum = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
    const auto begin = std::accumulate(counts.begin(), counts.begin() + comm.rank(), int64_t{0});
    const auto own = numbers(counts[comm.rank()], begin);
    std::vector<int64_t> all(sum);
    ASSERT_TRUE(
        comm.all_gather(std::span(own), std::span(all), std::span<const uint64_t>(counts)).wait());
    ASSERT_EQ(all, numbers(sum, 0));
    std::vector<int64_t> part(counts[comm.rank()]);
    ASSERT_TRUE(comm.reduce_scatter(std::span<const int64_t>(all), std::span(part),
                                    std::span<const uint64_t>(counts))
                    .wait());
    for (uint64_t i = 0; i < part.size(); ++i)
      ASSERT_EQ(part[i], int64_t{comm.num_ranks()} * own[i]);
  });
}

TEST(Operators, AreAppliedToEveryType) {
  on_ranks(3, [](Communicator& comm) {
    const float own = 1.0f + static_cast<float>(comm.rank());  // 1, 2, 3
    const auto result = [&](Op op, double factor = 1) {
      std::vector<float> data(100, own);
      EXPECT_TRUE(comm.all_reduce(std::span(data), {.op = op, .factor = factor}).wait());
      return data[99];
    };
    EXPECT_EQ(result(Op::kSum), 6);
    EXPECT_EQ(result(Op::kProd), 6);
    EXPECT_EQ(result(Op::kMin), 1);
    EXPECT_EQ(result(Op::kMax), 3);
    EXPECT_EQ(result(Op::kAvg), 2);
    EXPECT_EQ(result(Op::kPremulSum, 0.5), 3);
    std::vector<BFloat16> half(5000, BFloat16(own));
    EXPECT_TRUE(comm.all_reduce(std::span(half)).wait());
    EXPECT_EQ(static_cast<float>(half[4999]), 6);
    std::vector<uint8_t> bits(10, static_cast<uint8_t>(1u << comm.rank()));
    EXPECT_TRUE(comm.all_reduce(std::span(bits), {.op = Op::kBitOr}).wait());
    EXPECT_EQ(bits[3], 7);
  });
}

TEST(Names, OfAsynchronousCallsMayComeInOppositeOrders) {
  on_ranks(4, [](Communicator& comm) {
    std::vector<std::vector<int64_t>> data(20, std::vector<int64_t>(3000, 1));
    std::vector<Work> works;
    for (size_t i = 0; i < data.size(); ++i) {
      const size_t which = comm.rank() % 2 == 0 ? i : data.size() - 1 - i;
      works.push_back(comm.all_reduce(std::span(data[which]), {.name = std::to_string(which)}));
    }
    for (Work& work : works) ASSERT_TRUE(work.wait());
    for (const auto& row : data) ASSERT_EQ(row, std::vector<int64_t>(3000, 4));
  });
}

TEST(Subsets, OverlapAndMayBeUsedInAnyOrder) {
  on_ranks(3, [](Communicator& comm) {
    const uint32_t r = comm.rank();
    // {0,1}, {1,2}, {0,2}: a ring of three groups, each rank starting with another one.
    const uint32_t next[] = {r, (r + 1) % 3};
    const uint32_t previous[] = {(r + 2) % 3, r};
    Communicator with_next = comm.subset(next).value();
    Communicator with_previous = comm.subset(previous).value();
    std::vector<int64_t> a(2000, 1);
    std::vector<int64_t> b(2000, 10);
    Work first = with_next.all_reduce(std::span(a));
    Work second = with_previous.all_reduce(std::span(b));
    ASSERT_TRUE(first.wait());
    ASSERT_TRUE(second.wait());
    EXPECT_EQ(a[0], 11);
    EXPECT_EQ(b[0], 11);
  });
}

TEST(Calls, ThatCannotBeAreRefusedBeforeAnythingMoves) {
  on_ranks(2, [](Communicator& comm) {
    std::vector<float> data(10);
    const auto refusal = [](Work work) { return work.wait().error().message; };
    EXPECT_THAT(refusal(comm.broadcast(std::span(data), {.root = 2})),
                HasSubstr("root 2 of 2 ranks"));
    EXPECT_THAT(refusal(comm.all_reduce(std::span(data), {.op = Op::kBitXor})),
                HasSubstr("bxor is not defined for float32"));
    EXPECT_THAT(refusal(comm.all_reduce(std::span<const float>(data), std::span(data).first(9))),
                AllOf(HasSubstr("10 elements"), HasSubstr("9")));
    EXPECT_THAT(refusal(comm.all_reduce(std::span<const float>(data).first(8),
                                        std::span(data).subspan(1, 8))),
                HasSubstr("overlap"));
    EXPECT_THAT(refusal(comm.submit({.kind = CollectiveKind::kAllReduce,
                                     .type = DataType::kFloat32,
                                     .input_elems = 3,
                                     .output = data.data(),
                                     .output_elems = 3})),
                HasSubstr("input is null"));
    EXPECT_THAT(refusal(comm.all_gather(std::span<const float>(data).first(3),
                                        std::span(data).subspan(3, 5))),
                HasSubstr("2 times"));
  });
}

TEST(Deadlines, EndAWaitForARankThatDoesNotCall) {
  on_ranks(2, [](Communicator& comm) {
    if (comm.rank() == 1) return;
    std::vector<float> data(10);
    Work work = comm.all_reduce(std::span(data), {.deadline = std::chrono::milliseconds(20)});
    const Status status = work.wait();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kDeadline);
  });
}

// A call like the last one is not checked again: any difference must make it another one.
TEST(Communicator, CallsThatAreLikeTheLastOneButForOneThingAreOtherCalls) {
  on_ranks(2, [](Communicator& comm) {
    const auto other = static_cast<int64_t>(comm.rank());
    std::vector<int64_t> in = {1 + other, 5 + other, 7};
    std::vector<int64_t> out(3);
    const std::span<const int64_t> input(in);
    for (int i = 0; i < 3; ++i) {
      comm.all_reduce(input, std::span(out)).wait().value();
      EXPECT_EQ(out, (std::vector<int64_t>{3, 11, 14}));
    }
    in[2] = 8;
    comm.all_reduce(input, std::span(out), {.name = "named"}).wait().value();
    EXPECT_EQ(out, (std::vector<int64_t>{3, 11, 16}));
    comm.all_reduce(input, std::span(out), {.op = Op::kMax}).wait().value();
    EXPECT_EQ(out, (std::vector<int64_t>{2, 6, 8}));
    comm.all_reduce(input.first(2), std::span(out).first(2)).wait().value();
    EXPECT_EQ(out, (std::vector<int64_t>{3, 11, 8}));
    std::copy(in.begin(), in.end(), out.begin());
    comm.broadcast(std::span(out), {.root = 0}).wait().value();
    EXPECT_EQ(out, (std::vector<int64_t>{1, 5, 8}));
    std::copy(in.begin(), in.end(), out.begin());
    comm.broadcast(std::span(out), {.root = 1}).wait().value();
    EXPECT_EQ(out, (std::vector<int64_t>{2, 6, 8}));
    const std::span<int64_t> shifted(in.data() + 1, 2);
    EXPECT_EQ(comm.all_reduce(input.first(2), shifted).wait().error().code,
              ErrorCode::kInvalidArgument);
  });
}

}  // namespace
}  // namespace tutti
