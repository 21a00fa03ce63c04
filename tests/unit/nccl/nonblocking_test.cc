// Communicators whose calls do not wait (config.blocking is 0): who asks is told whether they are
// in progress.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <vector>

#include "tests/unit/nccl/nccl_ranks.h"

namespace tutti {
namespace {

using test::final_result;
using test::on_threads;
using test::row_of;
using test::sum_of_rows;
using test::ThreadStream;
using testing::AnyOf;
using testing::HasSubstr;
using Row = std::vector<int64_t>;

ncclConfig_t without_waiting() {
  ncclConfig_t config = test::initial_config();
  config.blocking = 0;
  return config;
}

ncclResult_t state_of(ncclComm_t comm) {
  ncclResult_t result = ncclInternalError;
  EXPECT_EQ(ncclCommGetAsyncError(comm, &result), ncclSuccess);
  return result;
}

void expect_sum(ncclComm_t comm, int rank, int num_ranks) {
  ThreadStream stream;
  Row data = row_of(rank, 1009);
  TUTTI_OK(ncclAllReduce(data.data(), data.data(), 1009, ncclInt64, ncclSum, comm, &stream));
  stream.synchronize();
  EXPECT_EQ(data, sum_of_rows(num_ranks, 1009));
}

// One thread is both ranks, one after the other: with calls that wait it would be stuck.
class TwoInOneThread {
 public:
  TwoInOneThread() {
    EXPECT_EQ(ncclGetUniqueId(&id_), ncclSuccess);
    begin(0);
    EXPECT_EQ(state_of(comms[0]), ncclInProgress);
  }
  void begin(int rank) {
    test::set_current_device(rank);
    ncclConfig_t config = without_waiting();
    EXPECT_EQ(ncclCommInitRankConfig(&comms[rank], 2, id_, rank, &config), ncclInProgress);
    ASSERT_NE(comms[rank], nullptr);
  }
  void begin_both() {
    begin(1);
    for (ncclComm_t comm : comms) EXPECT_EQ(final_result(comm), ncclSuccess);
  }
  void destroy() {
    for (ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  }

  ncclComm_t comms[2] = {};

 private:
  ncclUniqueId id_{};
};

TEST(NcclNonBlocking, ABeginningIsInProgressUntilAllHaveCome) {
  TwoInOneThread job;
  int64_t data = 0;
  int number = 0;
  EXPECT_EQ(ncclAllReduce(&data, &data, 1, ncclInt64, ncclSum, job.comms[0], nullptr),
            ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("in progress"));
  EXPECT_EQ(ncclCommCount(job.comms[0], &number), ncclInvalidArgument);
  EXPECT_EQ(ncclCommFinalize(job.comms[0]), ncclInvalidArgument);
  job.begin_both();
  TUTTI_OK(ncclCommCount(job.comms[0], &number));
  EXPECT_EQ(number, 2);
  on_threads(2, [&](int rank) { expect_sum(job.comms[rank], rank, 2); });
  job.destroy();
}

TEST(NcclNonBlocking, WhatCannotBeginSaysWhy) {
  ncclConfig_t config = without_waiting();
  ncclComm_t comm = nullptr;
  const ncclUniqueId foreign{"not a place"};
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 2, foreign, 0, &config), ncclInProgress);
  EXPECT_EQ(final_result(comm), ncclInvalidArgument);
  EXPECT_THAT(ncclGetLastError(comm), HasSubstr("no meeting place"));
  EXPECT_EQ(ncclCommCount(comm, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST(NcclNonBlocking, AGroupOfBeginningsIsInProgressToo) {
  ncclUniqueId id;
  TUTTI_OK(ncclGetUniqueId(&id));
  ncclConfig_t config = without_waiting();
  ncclComm_t comms[2] = {};
  TUTTI_OK(ncclGroupStart());
  for (int rank = 0; rank < 2; ++rank) {
    TUTTI_OK(ncclCommInitRankConfig(&comms[rank], 2, id, rank, &config));
  }
  EXPECT_EQ(ncclGroupEnd(), ncclInProgress);
  for (ncclComm_t comm : comms) EXPECT_EQ(final_result(comm), ncclSuccess);
  // What does not begin anything is over when it returns.
  TUTTI_OK(ncclGroupStart());
  TUTTI_OK(ncclGroupEnd());
  on_threads(2, [&](int rank) { expect_sum(comms[rank], rank, 2); });
  for (ncclComm_t comm : comms) TUTTI_OK(ncclCommDestroy(comm));
}

// Nothing of the group runs, so what was promised will not come.
TEST(NcclNonBlocking, ABeginningInAGroupWithAWrongCallFails) {
  ncclUniqueId id;
  TUTTI_OK(ncclGetUniqueId(&id));
  ncclConfig_t config = without_waiting();
  ncclComm_t comm = nullptr;
  TUTTI_OK(ncclGroupStart());
  TUTTI_OK(ncclCommInitRankConfig(&comm, 2, id, 0, &config));
  EXPECT_EQ(ncclCommInitRankConfig(nullptr, 2, id, 1, &config), ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
  EXPECT_EQ(final_result(comm), ncclRemoteError);
  TUTTI_OK(ncclCommDestroy(comm));
}

// The other rank never comes.
TEST(NcclNonBlocking, AnAbortWaitsForNoBeginning) {
  TwoInOneThread job;
  TUTTI_OK(ncclCommAbort(job.comms[0]));
}

TEST(NcclNonBlocking, AFinalizedOneIsInProgressUntilItsStreamsHaveCome) {
  TwoInOneThread job;
  job.begin_both();
  on_threads(2, [&](int rank) {
    ThreadStream stream;
    std::promise<void> may_go_on;
    stream.add([going_on = may_go_on.get_future().share()] {
      // Liveness: said when the communicator was seen to be in progress.
      going_on.wait();
    });
    int64_t data = rank;
    TUTTI_OK(ncclAllReduce(&data, &data, 1, ncclInt64, ncclSum, job.comms[rank], &stream));
    EXPECT_EQ(ncclCommFinalize(job.comms[rank]), ncclInProgress);
    EXPECT_EQ(state_of(job.comms[rank]), ncclInProgress);
    EXPECT_EQ(ncclAllReduce(&data, &data, 1, ncclInt64, ncclSum, job.comms[rank], &stream),
              ncclInvalidUsage);
    may_go_on.set_value();
    EXPECT_EQ(final_result(job.comms[rank]), ncclSuccess);
    EXPECT_EQ(data, 1);
  });
  job.destroy();
}

// Without a config of its own a part is as the whole. The whole is in progress until the part is
// made, also on a rank that gets none.
TEST(NcclNonBlocking, PartsAreMadeWhileTheWholeIsInProgress) {
  TwoInOneThread job;
  job.begin_both();
  ncclComm_t parts[2] = {};
  ncclComm_t none = nullptr;
  EXPECT_EQ(ncclCommSplit(job.comms[0], 0, 0, &parts[0], nullptr), ncclInProgress);
  EXPECT_EQ(state_of(job.comms[0]), ncclInProgress);
  EXPECT_EQ(state_of(parts[0]), ncclInProgress);
  EXPECT_EQ(ncclCommSplit(job.comms[0], 0, 0, &none, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommSplit(job.comms[1], 0, 1, &parts[1], nullptr), ncclInProgress);
  for (ncclComm_t comm : job.comms) EXPECT_EQ(final_result(comm), ncclSuccess);
  for (ncclComm_t comm : parts) EXPECT_EQ(final_result(comm), ncclSuccess);
  ncclComm_t alone = nullptr;
  EXPECT_EQ(ncclCommSplit(job.comms[0], 5, 0, &alone, nullptr), ncclInProgress);
  EXPECT_EQ(ncclCommSplit(job.comms[1], -1, 0, &none, nullptr), ncclInProgress);
  for (ncclComm_t comm : job.comms) EXPECT_EQ(final_result(comm), ncclSuccess);
  EXPECT_EQ(final_result(alone), ncclSuccess);
  EXPECT_EQ(none, nullptr);
  job.destroy();
  on_threads(2, [&](int rank) { expect_sum(parts[rank], rank, 2); });
  for (ncclComm_t comm : parts) TUTTI_OK(ncclCommDestroy(comm));
  expect_sum(alone, 0, 1);
  TUTTI_OK(ncclCommDestroy(alone));
}

TEST(NcclNonBlocking, DestroyWaitsForABeginning) {
  TwoInOneThread job;
  std::promise<void> is_destroyed;
  std::thread other([&] {
    EXPECT_EQ(ncclCommDestroy(job.comms[0]), ncclSuccess);
    is_destroyed.set_value();
  });
  job.begin(1);
  // Liveness: both ranks have come.
  is_destroyed.get_future().wait();
  other.join();
  EXPECT_THAT(final_result(job.comms[1]), AnyOf(ncclSuccess, ncclRemoteError));
  EXPECT_EQ(ncclCommDestroy(job.comms[1]), ncclSuccess);
}

}  // namespace
}  // namespace tutti
