// Calls in streams that are captured, as PyTorch and nccl-tests make them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/nccl/nccl_ranks.h"

namespace tutti {
namespace {

using test::NcclRank;
using test::number_of;
using test::on_nccl_ranks;
using test::row_of;
using test::sum_of_rows;
using test::ThreadGraph;
using Row = std::vector<int64_t>;

TEST(NcclGraphs, CallsAreCapturedAndRunAtEveryLaunch) {
  for (const int num_ranks : {1, 2, 3}) {
    on_nccl_ranks(num_ranks, [](NcclRank& self) {
      constexpr size_t kCount = 1009;
      const Row in = row_of(self.rank, kCount);
      Row out(kCount);
      ThreadGraph graph;
      self.stream.record(graph);
      TUTTI_OK(ncclAllReduce(in.data(), out.data(), kCount, ncclInt64, ncclSum, self.comm,
                             &self.stream));
      TUTTI_OK(ncclAllReduce(out.data(), out.data(), kCount, ncclInt64, ncclMax, self.comm,
                             &self.stream));
      self.stream.end_recording();
      for (int launch = 0; launch < 4; ++launch) {
        out.assign(kCount, -1);
        self.stream.launch(graph);
        self.stream.synchronize();
        EXPECT_EQ(out, sum_of_rows(self.num_ranks, kCount));
      }
    });
  }
}

TEST(NcclGraphs, AGroupOfMessagesIsCapturedAsOne) {
  on_nccl_ranks(3, [](NcclRank& self) {
    const int next = (self.rank + 1) % 3;
    const int before = (self.rank + 2) % 3;
    const Row in = row_of(self.rank, 50);
    Row out(50);
    ThreadGraph graph;
    self.stream.record(graph);
    TUTTI_OK(ncclGroupStart());
    TUTTI_OK(ncclSend(in.data(), 50, ncclInt64, next, self.comm, &self.stream));
    TUTTI_OK(ncclRecv(out.data(), 50, ncclInt64, before, self.comm, &self.stream));
    TUTTI_OK(ncclGroupEnd());
    self.stream.end_recording();
    for (int launch = 0; launch < 3; ++launch) self.stream.launch(graph);
    self.stream.synchronize();
    EXPECT_EQ(out, row_of(before, 50));
  });
}

TEST(NcclGraphs, AnExchangeInPlaceIsRefusedInAGraphAndLeavesTheOthersAlone) {
  on_nccl_ranks(2, [](NcclRank& self) {
    Row row = row_of(self.rank, 20);
    Row sum(20);
    ThreadGraph graph;
    self.stream.record(graph);
    EXPECT_EQ(ncclAlltoAll(row.data(), row.data(), 10, ncclInt64, self.comm, &self.stream),
              ncclInvalidUsage);
    EXPECT_THAT(ncclGetLastError(nullptr), testing::HasSubstr("graph"));
    TUTTI_OK(
        ncclAllReduce(row.data(), sum.data(), 20, ncclInt64, ncclSum, self.comm, &self.stream));
    self.stream.end_recording();
    self.stream.launch(graph);
    self.stream.synchronize();
    EXPECT_EQ(sum, sum_of_rows(2, 20));
    EXPECT_EQ(row[0], number_of(self.rank, 0));
  });
}

}  // namespace
}  // namespace tutti
