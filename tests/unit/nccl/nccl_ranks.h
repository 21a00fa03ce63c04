// Ranks as programs that use NCCL have them: a thread each, with a communicator and a stream.
#pragma once

#include <gtest/gtest.h>

#include <barrier>
#include <climits>
#include <cstdint>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "frontends/nccl/nccl_abi.h"
#include "tests/support/host_device/host_device.h"

namespace tutti::test {

// The text says why.
#define TUTTI_OK(call) ASSERT_EQ(call, ncclSuccess) << ncclGetLastError(nullptr)

// As NCCL_CONFIG_INITIALIZER.
inline ncclConfig_t initial_config() {
  ncclConfig_t config{};
  config.size = sizeof config;
  config.magic = 0xcafebeef;
  config.version = 22809;
  for (int* number : {&config.blocking, &config.cgaClusterSize, &config.minCTAs, &config.maxCTAs,
                      &config.splitShare, &config.trafficClass, &config.collnetEnable,
                      &config.CTAPolicy, &config.shrinkShare, &config.nvlsCTAs,
                      &config.nChannelsPerNetPeer, &config.nvlinkCentricSched}) {
    *number = INT_MIN;
  }
  return config;
}

struct NcclRank {
  int rank = 0;
  int num_ranks = 0;
  ncclComm_t comm = nullptr;
  ThreadStream stream = {};
};

// A thread for each rank. Waits for all.
inline void on_threads(int num_ranks, const std::function<void(int rank)>& body) {
  std::vector<std::thread> threads;
  for (int r = 0; r < num_ranks; ++r) {
    threads.emplace_back([&, r] {
      set_current_device(r);
      body(r);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// All are there before the first goes on: who aborts then does not abort a beginning.
inline void on_nccl_ranks(int num_ranks, const std::function<void(NcclRank&)>& body) {
  ncclUniqueId id;
  TUTTI_OK(ncclGetUniqueId(&id));
  std::barrier all_there(num_ranks);
  on_threads(num_ranks, [&](int r) {
    NcclRank rank{.rank = r, .num_ranks = num_ranks};
    TUTTI_OK(ncclCommInitRank(&rank.comm, num_ranks, id, r));
    // Liveness: all ranks begin; ctest's time limit ends a test where one does not.
    all_there.arrive_and_wait();
    body(rank);
    rank.stream.synchronize();
    EXPECT_EQ(ncclCommDestroy(rank.comm), ncclSuccess);
  });
}

// What a communicator has to say when nothing of it is in progress any more. An operation is known
// to be over a moment after its stream has gone on.
inline ncclResult_t final_result(ncclComm_t comm) {
  ncclResult_t result = ncclInProgress;
  // Liveness: what is in progress ends, at its deadline if not before.
  while (result == ncclInProgress) {
    const ncclResult_t answer = ncclCommGetAsyncError(comm, &result);
    if (answer != ncclSuccess) return answer;
    std::this_thread::yield();
  }
  return result;
}

// One number for each rank and place, all of them different.
inline int64_t number_of(int rank, uint64_t index) {
  return int64_t{rank + 1} * 1'000'000 + static_cast<int64_t>(index);
}

inline std::vector<int64_t> row_of(int rank, uint64_t count, uint64_t first = 0) {
  std::vector<int64_t> row(count);
  for (uint64_t i = 0; i < count; ++i) row[i] = number_of(rank, first + i);
  return row;
}

// Of all ranks' rows, place by place.
inline std::vector<int64_t> sum_of_rows(int num_ranks, uint64_t count, uint64_t first = 0) {
  std::vector<int64_t> sum(count);
  for (int r = 0; r < num_ranks; ++r) {
    for (uint64_t i = 0; i < count; ++i) sum[i] += number_of(r, first + i);
  }
  return sum;
}

}  // namespace tutti::test
