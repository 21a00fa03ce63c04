// Several communicators at once: what every rank may do in an order of its own, and what it learns
// when others do something else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "tests/support/sanitized.h"
#include "tests/unit/nccl/nccl_ranks.h"

namespace tutti {
namespace {

using test::kSanitized;
using test::NcclRank;
using test::on_nccl_ranks;
using test::row_of;
using test::sum_of_rows;
using testing::HasSubstr;
using Row = std::vector<int64_t>;

// A communicator of all, with a stream and data of its own.
struct Circle {
  ncclComm_t comm = nullptr;
  test::ThreadStream stream = {};
  Row data = {};
};

// Communicators of a rank. All ranks make them in the same order.
class Circles {
 public:
  Circles(NcclRank& self, size_t num) : self_(self) {
    for (size_t i = 0; i < num; ++i) {
      circles_.push_back(std::make_unique<Circle>());
      EXPECT_EQ(ncclCommSplit(self.comm, 0, self.rank, &circles_[i]->comm, nullptr), ncclSuccess);
    }
  }
  ~Circles() {
    for (const auto& circle : circles_) EXPECT_EQ(ncclCommDestroy(circle->comm), ncclSuccess);
  }
  Circles(const Circles&) = delete;
  Circles& operator=(const Circles&) = delete;

  // Each circle's own size; some small enough for letters, some for all blocks.
  static size_t elems_of(size_t circle) {
    constexpr size_t kElems[] = {3, 1009, 40'000};
    return kElems[circle % 3];
  }
  void all_reduce(size_t circle) {
    Circle& at = *circles_[circle];
    at.data = row_of(self_.rank, elems_of(circle), circle);
    ASSERT_EQ(ncclAllReduce(at.data.data(), at.data.data(), at.data.size(), ncclInt64, ncclSum,
                            at.comm, &at.stream),
              ncclSuccess);
  }
  void expect_sum(size_t circle) {
    Circle& at = *circles_[circle];
    at.stream.synchronize();
    EXPECT_EQ(at.data, sum_of_rows(self_.num_ranks, at.data.size(), circle));
  }

 private:
  NcclRank& self_;
  std::vector<std::unique_ptr<Circle>> circles_;
};

TEST(NcclOrders, TwoCommunicatorsMayBeUsedInOppositeOrders) {
  on_nccl_ranks(2, [](NcclRank& self) {
    Circles circles(self, 2);
    for (int round = 0; round < 20; ++round) {
      const size_t first = self.rank == 0 ? 0 : 1;
      circles.all_reduce(first);
      circles.all_reduce(1 - first);
      for (const size_t i : {0u, 1u}) circles.expect_sum(i);
    }
  });
}

// Rank r begins with communicator r: the Latin square.
TEST(NcclOrders, EveryRankMayBeginWithAnotherCommunicator) {
  constexpr int kRanks = 4;
  on_nccl_ranks(kRanks, [](NcclRank& self) {
    Circles circles(self, kRanks);
    for (int round = 0; round < (kSanitized ? 3 : 10); ++round) {
      for (int i = 0; i < kRanks; ++i) circles.all_reduce((self.rank + i) % kRanks);
      for (int i = 0; i < kRanks; ++i) circles.expect_sum(i);
    }
  });
}

TEST(NcclOrders, AnyOrderOfManyCommunicatorsIsRight) {
  constexpr size_t kCircles = 9;
  on_nccl_ranks(3, [](NcclRank& self) {
    Circles circles(self, kCircles);
    std::mt19937_64 random(static_cast<uint64_t>(self.rank));
    std::vector<size_t> order(kCircles);
    std::iota(order.begin(), order.end(), 0);
    for (int round = 0; round < (kSanitized ? 3 : 10); ++round) {
      std::shuffle(order.begin(), order.end(), random);
      for (const size_t i : order) circles.all_reduce(i);
      for (size_t i = 0; i < kCircles; ++i) circles.expect_sum(i);
    }
  });
}

// Rank 0 is in both pairs, and speaks to them in the order that is not theirs.
TEST(NcclOrders, CommunicatorsMayOverlap) {
  on_nccl_ranks(3, [](NcclRank& self) {
    ncclComm_t pairs[2] = {};
    for (int i = 0; i < 2; ++i) {
      const bool is_in = self.rank == 0 || self.rank == i + 1;
      TUTTI_OK(ncclCommSplit(self.comm, is_in ? 0 : -1, self.rank, &pairs[i], nullptr));
    }
    test::ThreadStream streams[2];
    Row data[2] = {row_of(self.rank, 1009), row_of(self.rank, 1009)};
    for (const int i : {1, 0}) {
      if (pairs[i] == nullptr) continue;
      TUTTI_OK(ncclAllReduce(data[i].data(), data[i].data(), 1009, ncclInt64, ncclSum, pairs[i],
                             &streams[i]));
    }
    for (int i = 0; i < 2; ++i) {
      streams[i].synchronize();
      if (pairs[i] == nullptr) continue;
      EXPECT_EQ(data[i][0], test::number_of(0, 0) + test::number_of(i + 1, 0));
      TUTTI_OK(ncclCommDestroy(pairs[i]));
    }
  });
}

// The stream goes on, the output is as it was, and who asks is told both calls.
TEST(NcclOrders, RanksThatDisagreeAreToldAndTheirStreamsGoOn) {
  on_nccl_ranks(2, [](NcclRank& self) {
    const size_t count = self.rank == 0 ? 900 : 1000;
    const Row in = row_of(self.rank, 1000);
    Row out(1000, -1);
    TUTTI_OK(
        ncclAllReduce(in.data(), out.data(), count, ncclInt64, ncclSum, self.comm, &self.stream));
    self.stream.synchronize();
    EXPECT_EQ(out, Row(1000, -1));
    ncclResult_t result = ncclSuccess;
    // Liveness: the operation is over, and the communicator will hear of it.
    while (result == ncclSuccess) TUTTI_OK(ncclCommGetAsyncError(self.comm, &result));
    EXPECT_EQ(result, ncclInvalidArgument);
    EXPECT_THAT(ncclGetLastError(self.comm), HasSubstr("ranks disagree"));
    EXPECT_THAT(ncclGetLastError(self.comm), HasSubstr("900"));
    EXPECT_THAT(ncclGetLastError(self.comm), HasSubstr("1000"));
  });
}

// Rank 0 has called what nobody else will, on one communicator; the other one it goes on using.
TEST(NcclOrders, AnAbortOfOneCommunicatorLeavesOthersAlone) {
  on_nccl_ranks(3, [](NcclRank& self) {
    Circles circles(self, 1);
    if (self.rank == 0) {
      Row row = row_of(0, 1009);
      test::ThreadStream stuck;
      TUTTI_OK(ncclAllReduce(row.data(), row.data(), 1009, ncclInt64, ncclSum, self.comm, &stuck));
      TUTTI_OK(ncclCommAbort(self.comm));
      stuck.synchronize();
      self.comm = nullptr;
    }
    circles.all_reduce(0);
    circles.expect_sum(0);
  });
}

}  // namespace
}  // namespace tutti
