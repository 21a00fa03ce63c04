#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/unit/nccl/nccl_ranks.h"

namespace tutti {
namespace {

using test::NcclRank;
using test::on_nccl_ranks;
using test::row_of;
using test::sum_of_rows;
using test::ThreadStream;
using testing::HasSubstr;
using Row = std::vector<int64_t>;

// Whoever sends first on a stream waits there for the receiver: rows are longer than what is
// buffered.
constexpr size_t kLong = 300'000;

TEST(NcclGroup, MessagesOfAGroupDoNotWaitForEachOther) {
  on_nccl_ranks(3, [](NcclRank& self) {
    const int next = (self.rank + 1) % 3;
    const int last = (self.rank + 2) % 3;
    const Row out = row_of(self.rank, kLong);
    Row in(kLong);
    Row back(kLong);
    TUTTI_OK(ncclGroupStart());
    TUTTI_OK(ncclSend(out.data(), kLong, ncclInt64, next, self.comm, &self.stream));
    TUTTI_OK(ncclSend(out.data(), kLong, ncclInt64, last, self.comm, &self.stream));
    TUTTI_OK(ncclRecv(in.data(), kLong, ncclInt64, last, self.comm, &self.stream));
    TUTTI_OK(ncclRecv(back.data(), kLong, ncclInt64, next, self.comm, &self.stream));
    TUTTI_OK(ncclGroupEnd());
    self.stream.synchronize();
    EXPECT_EQ(in, row_of(last, kLong));
    EXPECT_EQ(back, row_of(next, kLong));
  });
}

TEST(NcclGroup, AMessageToOneselfArrives) {
  on_nccl_ranks(2, [](NcclRank& self) {
    const Row out = row_of(self.rank, kLong);
    Row in(kLong);
    TUTTI_OK(ncclGroupStart());
    TUTTI_OK(ncclRecv(in.data(), kLong, ncclInt64, self.rank, self.comm, nullptr));
    TUTTI_OK(ncclSend(out.data(), kLong, ncclInt64, self.rank, self.comm, nullptr));
    TUTTI_OK(ncclGroupEnd());
    TUTTI_OK(ncclCommFinalize(self.comm));
    EXPECT_EQ(in, out);
  });
}

TEST(NcclGroup, WhatComesBehindAGroupWaitsForIt) {
  on_nccl_ranks(2, [](NcclRank& self) {
    const int peer = 1 - self.rank;
    const Row out = row_of(self.rank, kLong);
    Row in(kLong);
    TUTTI_OK(ncclGroupStart());
    TUTTI_OK(ncclSend(out.data(), kLong, ncclInt64, peer, self.comm, &self.stream));
    TUTTI_OK(ncclRecv(in.data(), kLong, ncclInt64, peer, self.comm, &self.stream));
    TUTTI_OK(ncclGroupEnd());
    TUTTI_OK(
        ncclAllReduce(in.data(), in.data(), kLong, ncclInt64, ncclSum, self.comm, &self.stream));
    self.stream.synchronize();
    EXPECT_EQ(in, sum_of_rows(2, kLong));
  });
}

// All ranks of a job in one thread, as a program with several GPUs in one process has them.
struct OneThread {
  explicit OneThread(int num_ranks) : comms(num_ranks), streams(num_ranks) {}

  std::vector<ncclComm_t> comms;
  std::vector<ThreadStream> streams;

  void all_reduce(std::vector<Row>& rows) {
    TUTTI_OK(ncclGroupStart());
    for (size_t r = 0; r < comms.size(); ++r) {
      TUTTI_OK(ncclAllReduce(rows[r].data(), rows[r].data(), rows[r].size(), ncclInt64, ncclSum,
                             comms[r], &streams[r]));
    }
    TUTTI_OK(ncclGroupEnd());
    for (ThreadStream& stream : streams) stream.synchronize();
  }
  void expect_sums() {
    const auto num_ranks = static_cast<int>(comms.size());
    std::vector<Row> rows;
    for (int r = 0; r < num_ranks; ++r) rows.push_back(row_of(r, 5000));
    all_reduce(rows);
    EXPECT_EQ(rows, std::vector<Row>(num_ranks, sum_of_rows(num_ranks, 5000)));
  }
  // One after the other, though each is a part of the whole.
  void destroy() {
    for (ncclComm_t comm : comms) TUTTI_OK(ncclCommDestroy(comm));
  }
};

TEST(NcclGroup, OneThreadMayBeAllRanks) {
  OneThread job(3);
  ncclUniqueId id;
  TUTTI_OK(ncclGetUniqueId(&id));
  TUTTI_OK(ncclGroupStart());
  for (int r = 0; r < 3; ++r) {
    test::set_current_device(5 + r);
    TUTTI_OK(ncclCommInitRank(&job.comms[r], 3, id, r));
    EXPECT_EQ(job.comms[r], nullptr);
  }
  test::set_current_device(0);
  TUTTI_OK(ncclGroupEnd());
  for (int r = 0; r < 3; ++r) {
    int device = 0;
    TUTTI_OK(ncclCommCuDevice(job.comms[r], &device));
    EXPECT_EQ(device, 5 + r);
  }
  job.expect_sums();
  job.destroy();
}

TEST(NcclGroup, InitAllMakesAllRanks) {
  for (const int num_ranks : {1, 4}) {
    OneThread job(num_ranks);
    TUTTI_OK(ncclCommInitAll(job.comms.data(), num_ranks, nullptr));
    job.expect_sums();
    job.destroy();
  }
  OneThread job(2);
  const int devices[] = {3, 3};
  TUTTI_OK(ncclCommInitAll(job.comms.data(), 2, devices));
  int device = 0;
  TUTTI_OK(ncclCommCuDevice(job.comms[1], &device));
  EXPECT_EQ(device, 3);
  job.expect_sums();
  job.destroy();
}

TEST(NcclGroup, OperationsAndTheEndMayBeInOneGroup) {
  OneThread job(2);
  TUTTI_OK(ncclCommInitAll(job.comms.data(), 2, nullptr));
  std::vector<Row> rows{row_of(0, 100), row_of(1, 100)};
  TUTTI_OK(ncclGroupStart());
  for (int r = 0; r < 2; ++r) {
    TUTTI_OK(ncclAllReduce(rows[r].data(), rows[r].data(), 100, ncclInt64, ncclSum, job.comms[r],
                           &job.streams[r]));
    TUTTI_OK(ncclCommFinalize(job.comms[r]));
    TUTTI_OK(ncclCommDestroy(job.comms[r]));
  }
  TUTTI_OK(ncclGroupEnd());
  EXPECT_EQ(rows, std::vector<Row>(2, sum_of_rows(2, 100)));
}

TEST(NcclGroup, OnlyTheOutermostEndRuns) {
  on_nccl_ranks(2, [](NcclRank& self) {
    const int peer = 1 - self.rank;
    const Row out = row_of(self.rank, kLong);
    Row in(kLong);
    TUTTI_OK(ncclGroupStart());
    TUTTI_OK(ncclGroupStart());
    TUTTI_OK(ncclSend(out.data(), kLong, ncclInt64, peer, self.comm, &self.stream));
    TUTTI_OK(ncclGroupEnd());
    TUTTI_OK(ncclRecv(in.data(), kLong, ncclInt64, peer, self.comm, &self.stream));
    TUTTI_OK(ncclGroupEnd());
    self.stream.synchronize();
    EXPECT_EQ(in, row_of(peer, kLong));
  });
}

TEST(NcclGroup, AllToAllsInPlaceFitIntoAGroup) {
  on_nccl_ranks(2, [](NcclRank& self) {
    Row one{10 + self.rank, 20 + self.rank};
    Row two{30 + self.rank, 40 + self.rank};
    Row sum{1};
    TUTTI_OK(ncclGroupStart());
    TUTTI_OK(ncclAlltoAll(one.data(), one.data(), 1, ncclInt64, self.comm, &self.stream));
    TUTTI_OK(ncclAllReduce(sum.data(), sum.data(), 1, ncclInt64, ncclSum, self.comm, &self.stream));
    TUTTI_OK(ncclAlltoAll(two.data(), two.data(), 1, ncclInt64, self.comm, &self.stream));
    TUTTI_OK(ncclGroupEnd());
    self.stream.synchronize();
    EXPECT_EQ(one, (self.rank == 0 ? Row{10, 11} : Row{20, 21}));
    EXPECT_EQ(two, (self.rank == 0 ? Row{30, 31} : Row{40, 41}));
    EXPECT_EQ(sum, Row{2});
  });
}

TEST(NcclGroup, AGroupWithAWrongCallDoesNothing) {
  on_nccl_ranks(1, [](NcclRank& self) {
    int64_t in = 7;
    int64_t out = 0;
    TUTTI_OK(ncclGroupStart());
    TUTTI_OK(ncclAllReduce(&in, &out, 1, ncclInt64, ncclSum, self.comm, &self.stream));
    EXPECT_EQ(ncclSend(&in, 1, ncclInt64, 9, self.comm, &self.stream), ncclInvalidArgument);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("peer 9 of 1 ranks"));
    self.stream.synchronize();
    EXPECT_EQ(out, 0);
    // What is found only when the group is enqueued, too.
    TUTTI_OK(ncclGroupStart());
    TUTTI_OK(ncclAllReduce(&in, &out, 1, ncclInt64, ncclSum, self.comm, &self.stream));
    TUTTI_OK(ncclBroadcast(&in, nullptr, 1, ncclInt64, 0, self.comm, &self.stream));
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("output is null"));
    self.stream.synchronize();
    EXPECT_EQ(out, 0);
    // And it is over: the next one works.
    TUTTI_OK(ncclAllReduce(&in, &out, 1, ncclInt64, ncclSum, self.comm, &self.stream));
    self.stream.synchronize();
    EXPECT_EQ(out, 7);
  });
}

// Each communicator keeps memory until its end: an in-place exchange needs some beside.
void exchange_in_place(ncclComm_t comm, ThreadStream& stream) {
  Row row{1, 2};
  TUTTI_OK(ncclAlltoAll(row.data(), row.data(), 1, ncclInt64, comm, &stream));
  stream.synchronize();
}

TEST(NcclGroup, WhatAGroupEndsEndsThoughAnotherCallIsWrong) {
  const uint64_t before = test::num_device_allocations();
  on_nccl_ranks(2, [](NcclRank& self) {
    exchange_in_place(self.comm, self.stream);
    int64_t data = 0;
    TUTTI_OK(ncclGroupStart());
    EXPECT_EQ(ncclSend(&data, 1, ncclInt64, 9, self.comm, &self.stream), ncclInvalidArgument);
    TUTTI_OK(ncclCommDestroy(self.comm));
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
    self.comm = nullptr;
  });
  EXPECT_EQ(test::num_device_allocations(), before);
}

// Rank 0 and 1 do not agree on a size, so that finalizing has an error to tell.
TEST(NcclGroup, ACommunicatorThatCannotBeFinalizedIsDestroyed) {
  const uint64_t before = test::num_device_allocations();
  on_nccl_ranks(2, [](NcclRank& self) {
    exchange_in_place(self.comm, self.stream);
    Row row(10);
    TUTTI_OK(ncclAllReduce(row.data(), row.data(), 9 + self.rank, ncclInt64, ncclSum, self.comm,
                           &self.stream));
    TUTTI_OK(ncclGroupStart());
    TUTTI_OK(ncclCommFinalize(self.comm));
    TUTTI_OK(ncclCommDestroy(self.comm));
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
    self.comm = nullptr;
  });
  EXPECT_EQ(test::num_device_allocations(), before);
}

TEST(NcclGroup, EndsBelongToBeginnings) {
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  EXPECT_STREQ(ncclGetLastError(nullptr), "ncclGroupEnd without ncclGroupStart");
  TUTTI_OK(ncclGroupStart());
  TUTTI_OK(ncclGroupEnd());
  EXPECT_EQ(ncclGroupSimulateEnd(nullptr), ncclInvalidUsage);
}

TEST(NcclGroup, ASimulatedEndEndsItToo) {
  on_nccl_ranks(1, [](NcclRank& self) {
    int64_t in = 7;
    int64_t out = 0;
    TUTTI_OK(ncclGroupStart());
    TUTTI_OK(ncclAllReduce(&in, &out, 1, ncclInt64, ncclSum, self.comm, &self.stream));
    EXPECT_EQ(ncclGroupSimulateEnd(nullptr), ncclInvalidUsage);
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("not served"));
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
    self.stream.synchronize();
    EXPECT_EQ(out, 0);
  });
}

}  // namespace
}  // namespace tutti
