// How communicators begin, divide and end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

#include "tests/unit/nccl/nccl_ranks.h"

namespace tutti {
namespace {

using test::initial_config;
using test::NcclRank;
using test::on_nccl_ranks;
using test::on_threads;
using testing::HasSubstr;
using Row = std::vector<int64_t>;

int rank_in(ncclComm_t comm) {
  int rank = -1;
  EXPECT_EQ(ncclCommUserRank(comm, &rank), ncclSuccess);
  return rank;
}

int size_of(ncclComm_t comm) {
  int count = -1;
  EXPECT_EQ(ncclCommCount(comm, &count), ncclSuccess);
  return count;
}

// Who is in it, in order of its ranks.
Row gathered(ncclComm_t comm, int64_t who) {
  Row all(size_of(comm), -1);
  test::ThreadStream stream;
  EXPECT_EQ(ncclAllGather(&who, all.data(), 1, ncclInt64, comm, &stream), ncclSuccess);
  stream.synchronize();
  return all;
}

TEST(NcclComm, KnowsItsRankSizeAndDevice) {
  on_nccl_ranks(3, [](NcclRank& self) {
    int device = -1;
    TUTTI_OK(ncclCommCuDevice(self.comm, &device));
    EXPECT_EQ(device, self.rank);
    EXPECT_EQ(rank_in(self.comm), self.rank);
    EXPECT_EQ(size_of(self.comm), 3);
    ncclResult_t result = ncclInternalError;
    TUTTI_OK(ncclCommGetAsyncError(self.comm, &result));
    EXPECT_EQ(result, ncclSuccess);
  });
}

TEST(NcclComm, BeginsWithOrWithoutAConfigOfAnyVersion) {
  ncclUniqueId ids[2];
  TUTTI_OK(ncclGetUniqueId(&ids[0]));
  TUTTI_OK(ncclGetUniqueId(&ids[1]));
  EXPECT_NE(std::string(ids[0].internal), ids[1].internal);
  on_threads(2, [&](int rank) {
    ncclConfig_t config = initial_config();
    config.blocking = 1;
    if (rank == 1) {  // compiled with the first header that had one
      config.size = offsetof(ncclConfig_t, cgaClusterSize);
      config.minCTAs = -5;
    }
    ncclComm_t comm = nullptr;
    TUTTI_OK(ncclCommInitRankConfig(&comm, 2, ids[0], rank, &config));
    EXPECT_EQ(gathered(comm, rank), (Row{0, 1}));
    TUTTI_OK(ncclCommDestroy(comm));
    TUTTI_OK(ncclCommInitRankScalable(&comm, 2, rank, 1, &ids[1], nullptr));
    EXPECT_EQ(gathered(comm, rank), (Row{0, 1}));
    TUTTI_OK(ncclCommDestroy(comm));
  });
}

TEST(NcclComm, WrongBeginningsAreRefused) {
  ncclUniqueId id;
  TUTTI_OK(ncclGetUniqueId(&id));
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclGetUniqueId(nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(nullptr, 1, id, 0), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(&comm, 0, id, 0), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(&comm, 2, id, -1), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(&comm, 2, id, 2), ncclInvalidArgument);
  EXPECT_STREQ(ncclGetLastError(nullptr), "rank 2 of 2 ranks");
  EXPECT_EQ(ncclCommInitRankScalable(&comm, 1, 0, 0, &id, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitAll(&comm, 0, nullptr), ncclInvalidArgument);
  ncclConfig_t config = initial_config();
  config.magic = 0;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("NCCL_CONFIG_INITIALIZER"));
  config = initial_config();
  config.blocking = 7;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument);
  config = initial_config();
  config.minCTAs = 4;
  config.maxCTAs = 3;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument);
  const ncclUniqueId foreign{"not a place"};
  EXPECT_EQ(ncclCommInitRank(&comm, 2, foreign, 0), ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("no meeting place"));
  test::set_current_device(-1);
  EXPECT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclSystemError);
  test::set_current_device(0);
  EXPECT_EQ(comm, nullptr);
}

TEST(NcclComm, SplitsByColorInOrderOfKeys) {
  on_nccl_ranks(5, [](NcclRank& self) {
    ncclComm_t part = nullptr;
    TUTTI_OK(ncclCommSplit(self.comm, self.rank % 2, -self.rank, &part, nullptr));
    EXPECT_EQ(gathered(part, self.rank), (self.rank % 2 == 0 ? Row{4, 2, 0} : Row{3, 1}));
    TUTTI_OK(ncclCommDestroy(part));
  });
}

TEST(NcclComm, ARankWithoutColorGetsNothing) {
  on_nccl_ranks(3, [](NcclRank& self) {
    ncclComm_t part = self.comm;
    TUTTI_OK(ncclCommSplit(self.comm, self.rank == 1 ? -1 : 7, 0, &part, nullptr));
    if (self.rank == 1) {
      EXPECT_EQ(part, nullptr);
    } else {
      EXPECT_EQ(gathered(part, self.rank), (Row{0, 2}));
    }
    TUTTI_OK(ncclCommDestroy(part));
  });
}

// The parts are used after the whole has gone.
TEST(NcclComm, SplitsOfOneGroupAreMatchedInTheirOrder) {
  std::vector<ncclComm_t> whole(2);
  TUTTI_OK(ncclCommInitAll(whole.data(), 2, nullptr));
  std::vector<ncclComm_t> kept(2);
  std::vector<ncclComm_t> turned(2);
  TUTTI_OK(ncclGroupStart());
  for (int r = 0; r < 2; ++r) {
    TUTTI_OK(ncclCommSplit(whole[r], 0, r, &kept[r], nullptr));
    TUTTI_OK(ncclCommSplit(whole[r], 0, -r, &turned[r], nullptr));
  }
  TUTTI_OK(ncclGroupEnd());
  for (ncclComm_t comm : whole) TUTTI_OK(ncclCommDestroy(comm));
  on_threads(2, [&](int r) {
    EXPECT_EQ(gathered(kept[r], r), (Row{0, 1}));
    EXPECT_EQ(gathered(turned[r], r), (Row{1, 0}));
    TUTTI_OK(ncclCommDestroy(kept[r]));
    TUTTI_OK(ncclCommDestroy(turned[r]));
  });
}

TEST(NcclComm, ShrinksToThoseThatAreLeft) {
  on_nccl_ranks(4, [](NcclRank& self) {
    int gone[] = {2, 0};
    if (self.rank == 0 || self.rank == 2) return;
    ncclComm_t rest = nullptr;
    TUTTI_OK(ncclCommShrink(self.comm, gone, 2, &rest, nullptr, 0));
    EXPECT_EQ(gathered(rest, self.rank), (Row{1, 3}));
    TUTTI_OK(ncclCommDestroy(rest));
  });
}

// An operation that a rank does not take part in holds up nobody who leaves that rank out.
TEST(NcclComm, ShrinkingCanAbortWhatIsUnderWay) {
  on_nccl_ranks(3, [](NcclRank& self) {
    if (self.rank == 1) return;
    int64_t data = 1;
    TUTTI_OK(ncclAllReduce(&data, &data, 1, ncclInt64, ncclSum, self.comm, &self.stream));
    int gone[] = {1};
    ncclComm_t rest = nullptr;
    TUTTI_OK(ncclCommShrink(self.comm, gone, 1, &rest, nullptr, 1));
    EXPECT_EQ(gathered(rest, self.rank), (Row{0, 2}));
    TUTTI_OK(ncclCommDestroy(rest));
    self.stream.synchronize();
    EXPECT_EQ(test::final_result(self.comm), ncclRemoteError);
  });
}

TEST(NcclComm, WrongSplitsAndShrinksAreRefused) {
  on_nccl_ranks(1, [](NcclRank& self) {
    ncclComm_t part = nullptr;
    EXPECT_EQ(ncclCommSplit(nullptr, 0, 0, &part, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclCommSplit(self.comm, 0, 0, nullptr, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclCommSplit(self.comm, -2, 0, &part, nullptr), ncclInvalidArgument);
    int ranks[] = {0, 1};
    EXPECT_EQ(ncclCommShrink(self.comm, ranks, 0, &part, nullptr, 0), ncclInvalidArgument);
    EXPECT_EQ(ncclCommShrink(self.comm, nullptr, 1, &part, nullptr, 0), ncclInvalidArgument);
    EXPECT_EQ(ncclCommShrink(self.comm, &ranks[1], 1, &part, nullptr, 0), ncclInvalidArgument);
    EXPECT_STREQ(ncclGetLastError(nullptr), "shrink: rank 1 of 1");
    EXPECT_EQ(ncclCommShrink(self.comm, ranks, 1, &part, nullptr, 0), ncclInvalidArgument);
    EXPECT_EQ(part, nullptr);
  });
}

TEST(NcclComm, IsNotUsedAfterItsFinal) {
  on_nccl_ranks(2, [](NcclRank& self) {
    int64_t data = self.rank;
    TUTTI_OK(ncclAllReduce(&data, &data, 1, ncclInt64, ncclSum, self.comm, &self.stream));
    TUTTI_OK(ncclCommFinalize(self.comm));
    EXPECT_EQ(data, 1);
    EXPECT_EQ(ncclAllReduce(&data, &data, 1, ncclInt64, ncclSum, self.comm, &self.stream),
              ncclInvalidUsage);
    EXPECT_STREQ(ncclGetLastError(nullptr), "the communicator was finalized");
  });
}

TEST(NcclComm, DestroyWaitsForWhatIsEnqueued) {
  ncclUniqueId id;
  TUTTI_OK(ncclGetUniqueId(&id));
  on_threads(2, [&](int rank) {
    ncclComm_t comm = nullptr;
    TUTTI_OK(ncclCommInitRank(&comm, 2, id, rank));
    Row data(300'000, rank + 1);
    TUTTI_OK(
        ncclAllReduce(data.data(), data.data(), data.size(), ncclInt64, ncclSum, comm, nullptr));
    TUTTI_OK(ncclCommDestroy(comm));
    EXPECT_EQ(data, Row(data.size(), 3));
  });
}

// Rank 0 does not take part in what rank 1 waits for.
TEST(NcclComm, AbortEndsWhatIsUnderWay) {
  on_nccl_ranks(2, [](NcclRank& self) {
    if (self.rank == 0) return;
    int64_t data = 0;
    TUTTI_OK(ncclAllReduce(&data, &data, 1, ncclInt64, ncclSum, self.comm, &self.stream));
    TUTTI_OK(ncclCommAbort(self.comm));
    self.stream.synchronize();
    self.comm = nullptr;
  });
}

// The stream comes to the operations after the communicator has gone, and they still have memory
// beside. Ones that need some later see to it, once what is over is known to be.
TEST(NcclComm, AbortWaitsForNoStream) {
  const uint64_t before = test::num_device_allocations();
  on_nccl_ranks(2, [&](NcclRank& self) {
    std::promise<void> may_go_on;
    self.stream.add([going_on = may_go_on.get_future().share()] {
      // Liveness: said when the communicator has gone.
      going_on.wait();
    });
    Row data{1, 2};
    TUTTI_OK(ncclAlltoAll(data.data(), data.data(), 1, ncclInt64, self.comm, &self.stream));
    TUTTI_OK(ncclCommAbort(self.comm));
    EXPECT_GT(test::num_device_allocations(), before);
    may_go_on.set_value();
    self.stream.synchronize();
    self.comm = nullptr;
  });
  // Liveness: the streams have come to all of it, so the watch will say that it is over.
  while (test::num_device_allocations() != before) {
    on_nccl_ranks(1, [](NcclRank& self) {
      Row data{1};
      TUTTI_OK(ncclAlltoAll(data.data(), data.data(), 1, ncclInt64, self.comm, &self.stream));
      self.stream.synchronize();
    });
  }
}

// As nccl.h has it: in progress until what is in streams has ended, then well.
TEST(NcclComm, ARevokedOneIsInProgressUntilItsStreamsHaveComeAndCanThenBeShrunk) {
  on_nccl_ranks(3, [](NcclRank& self) {
    if (self.rank == 0) return;
    std::promise<void> may_go_on;
    self.stream.add([going_on = may_go_on.get_future().share()] {
      // Liveness: said when the communicator was seen to be in progress.
      going_on.wait();
    });
    int64_t data = 0;
    TUTTI_OK(ncclAllReduce(&data, &data, 1, ncclInt64, ncclSum, self.comm, &self.stream));
    EXPECT_EQ(ncclCommRevoke(self.comm, 1), ncclInvalidArgument);
    TUTTI_OK(ncclCommRevoke(self.comm, 0));
    ncclResult_t result = ncclSuccess;
    TUTTI_OK(ncclCommGetAsyncError(self.comm, &result));
    EXPECT_EQ(result, ncclInProgress);
    may_go_on.set_value();
    self.stream.synchronize();
    EXPECT_EQ(test::final_result(self.comm), ncclSuccess);
    EXPECT_NE(ncclAllReduce(&data, &data, 1, ncclInt64, ncclSum, self.comm, &self.stream),
              ncclSuccess);
    EXPECT_THAT(ncclGetLastError(self.comm), HasSubstr("aborted"));
    EXPECT_EQ(ncclCommFinalize(self.comm), ncclInvalidUsage);
    int gone[] = {0};
    ncclComm_t rest = nullptr;
    TUTTI_OK(ncclCommShrink(self.comm, gone, 1, &rest, nullptr, 0));
    EXPECT_EQ(gathered(rest, self.rank), (Row{1, 2}));
    TUTTI_OK(ncclCommDestroy(rest));
  });
}

TEST(NcclComm, NoneIsNothingToEnd) {
  EXPECT_EQ(ncclCommFinalize(nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommAbort(nullptr), ncclSuccess);
}

}  // namespace
}  // namespace tutti
