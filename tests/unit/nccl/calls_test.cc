// Every collective, with data, beside what NCCL promises of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/nccl/nccl_ranks.h"

namespace tutti {
namespace {

using test::NcclRank;
using test::on_nccl_ranks;
using test::row_of;
using test::sum_of_rows;
using Row = std::vector<int64_t>;

constexpr size_t kCounts[] = {1, 7, 1009};
constexpr int kSizes[] = {1, 2, 3, 5};

// For each number of ranks, count and rank that a root could be.
void on_all(const std::function<void(NcclRank&, size_t count, int root)>& body) {
  for (const int num_ranks : kSizes) {
    on_nccl_ranks(num_ranks, [&](NcclRank& rank) {
      for (const size_t count : kCounts) body(rank, count, static_cast<int>(count) % num_ranks);
    });
  }
}

Row rows_of_all(int num_ranks, size_t count) {
  Row all;
  for (int r = 0; r < num_ranks; ++r) {
    const Row row = row_of(r, count);
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

TEST(NcclCalls, AllReduceAddsUpInAndOutOfPlace) {
  on_all([](NcclRank& self, size_t count, int) {
    const Row want = sum_of_rows(self.num_ranks, count);
    const Row in = row_of(self.rank, count);
    Row out(count);
    Row both = in;
    TUTTI_OK(
        ncclAllReduce(in.data(), out.data(), count, ncclInt64, ncclSum, self.comm, &self.stream));
    TUTTI_OK(ncclAllReduce(both.data(), both.data(), count, ncclInt64, ncclSum, self.comm,
                           &self.stream));
    self.stream.synchronize();
    EXPECT_EQ(out, want);
    EXPECT_EQ(both, want);
  });
}

TEST(NcclCalls, ReduceGivesTheRootAloneTheSum) {
  on_all([](NcclRank& self, size_t count, int root) {
    const bool is_root = self.rank == root;
    const Row want = sum_of_rows(self.num_ranks, count);
    const Row in = row_of(self.rank, count);
    Row out(count, -1);
    Row both = in;
    TUTTI_OK(ncclReduce(in.data(), is_root ? out.data() : nullptr, count, ncclInt64, ncclSum, root,
                        self.comm, &self.stream));
    TUTTI_OK(ncclReduce(both.data(), both.data(), count, ncclInt64, ncclSum, root, self.comm,
                        &self.stream));
    self.stream.synchronize();
    EXPECT_EQ(out, is_root ? want : Row(count, -1));
    EXPECT_EQ(both, is_root ? want : in);
  });
}

TEST(NcclCalls, BroadcastGivesAllWhatTheRootSends) {
  on_all([](NcclRank& self, size_t count, int root) {
    const bool is_root = self.rank == root;
    const Row want = row_of(root, count);
    const Row in = row_of(self.rank, count);
    Row out(count);
    Row both = in;
    TUTTI_OK(ncclBroadcast(is_root ? in.data() : nullptr, out.data(), count, ncclInt64, root,
                           self.comm, &self.stream));
    TUTTI_OK(ncclBcast(both.data(), count, ncclInt64, root, self.comm, &self.stream));
    self.stream.synchronize();
    EXPECT_EQ(out, want);
    EXPECT_EQ(both, want);
    EXPECT_EQ(in, row_of(self.rank, count));
  });
}

// In place at the root, with whatever send buffer elsewhere: what nccl-tests does.
TEST(NcclCalls, BroadcastTakesOneBufferForBoth) {
  on_all([](NcclRank& self, size_t count, int root) {
    Row both = row_of(self.rank, count);
    TUTTI_OK(
        ncclBroadcast(both.data(), both.data(), count, ncclInt64, root, self.comm, &self.stream));
    self.stream.synchronize();
    EXPECT_EQ(both, row_of(root, count));
  });
}

TEST(NcclCalls, AllGatherPutsEveryRanksRowAtItsPlace) {
  on_all([](NcclRank& self, size_t count, int) {
    const Row want = rows_of_all(self.num_ranks, count);
    const Row in = row_of(self.rank, count);
    Row out(want.size());
    Row both(want.size());
    std::copy(in.begin(), in.end(), both.begin() + self.rank * static_cast<int64_t>(count));
    TUTTI_OK(ncclAllGather(in.data(), out.data(), count, ncclInt64, self.comm, &self.stream));
    TUTTI_OK(ncclAllGather(&both[self.rank * count], both.data(), count, ncclInt64, self.comm,
                           &self.stream));
    self.stream.synchronize();
    EXPECT_EQ(out, want);
    EXPECT_EQ(both, want);
  });
}

TEST(NcclCalls, ReduceScatterGivesEachRankItsPartOfTheSum) {
  on_all([](NcclRank& self, size_t count, int) {
    const Row want = sum_of_rows(self.num_ranks, count, self.rank * count);
    const Row in = row_of(self.rank, count * self.num_ranks);
    Row out(count);
    Row both = in;
    TUTTI_OK(ncclReduceScatter(in.data(), out.data(), count, ncclInt64, ncclSum, self.comm,
                               &self.stream));
    TUTTI_OK(ncclReduceScatter(both.data(), &both[self.rank * count], count, ncclInt64, ncclSum,
                               self.comm, &self.stream));
    self.stream.synchronize();
    EXPECT_EQ(out, want);
    const auto own = both.begin() + self.rank * static_cast<int64_t>(count);
    EXPECT_EQ(Row(own, own + static_cast<int64_t>(count)), want);
  });
}

// In place too, one directly behind the other, with more memory needed from call to call.
TEST(NcclCalls, AllToAllGivesEachRankItsPartOfEveryRow) {
  on_all([](NcclRank& self, size_t count, int) {
    Row want;
    for (int r = 0; r < self.num_ranks; ++r) {
      const Row part = row_of(r, count, self.rank * count);
      want.insert(want.end(), part.begin(), part.end());
    }
    const Row in = row_of(self.rank, count * self.num_ranks);
    Row out(in.size());
    Row both = in;
    Row again = in;
    TUTTI_OK(ncclAlltoAll(in.data(), out.data(), count, ncclInt64, self.comm, &self.stream));
    TUTTI_OK(ncclAlltoAll(both.data(), both.data(), count, ncclInt64, self.comm, &self.stream));
    TUTTI_OK(ncclAlltoAll(again.data(), again.data(), count, ncclInt64, self.comm, &self.stream));
    self.stream.synchronize();
    EXPECT_EQ(out, want);
    EXPECT_EQ(both, want);
    EXPECT_EQ(again, want);
  });
  EXPECT_EQ(test::num_device_allocations(), 0);
}

TEST(NcclCalls, GatherGivesTheRootAllRows) {
  on_all([](NcclRank& self, size_t count, int root) {
    const bool is_root = self.rank == root;
    const Row in = row_of(self.rank, count);
    Row out(is_root ? count * self.num_ranks : 0);
    Row both(count * self.num_ranks);
    std::copy(in.begin(), in.end(), both.begin() + self.rank * static_cast<int64_t>(count));
    TUTTI_OK(ncclGather(in.data(), is_root ? out.data() : nullptr, count, ncclInt64, root,
                        self.comm, &self.stream));
    TUTTI_OK(ncclGather(&both[self.rank * count], both.data(), count, ncclInt64, root, self.comm,
                        &self.stream));
    self.stream.synchronize();
    EXPECT_EQ(out, is_root ? rows_of_all(self.num_ranks, count) : Row());
    if (!is_root) return;
    EXPECT_EQ(both, rows_of_all(self.num_ranks, count));
  });
}

TEST(NcclCalls, ScatterGivesEachRankItsPartOfTheRootsRow) {
  on_all([](NcclRank& self, size_t count, int root) {
    const bool is_root = self.rank == root;
    const Row want = row_of(root, count, self.rank * count);
    const Row in = row_of(root, count * self.num_ranks);
    Row out(count);
    Row both = in;
    TUTTI_OK(ncclScatter(is_root ? in.data() : nullptr, out.data(), count, ncclInt64, root,
                         self.comm, &self.stream));
    TUTTI_OK(ncclScatter(both.data(), &both[self.rank * count], count, ncclInt64, root, self.comm,
                         &self.stream));
    self.stream.synchronize();
    EXPECT_EQ(out, want);
    const auto own = both.begin() + self.rank * static_cast<int64_t>(count);
    EXPECT_EQ(Row(own, own + static_cast<int64_t>(count)), want);
  });
}

TEST(NcclCalls, NothingIsSentWhereThereIsNothing) {
  on_nccl_ranks(2, [](NcclRank& self) {
    const int peer = 1 - self.rank;
    int64_t kept = 5;
    void* const data = &kept;
    TUTTI_OK(ncclAllReduce(data, data, 0, ncclInt64, ncclSum, self.comm, nullptr));
    TUTTI_OK(ncclReduce(nullptr, nullptr, 0, ncclInt64, ncclSum, 0, self.comm, nullptr));
    TUTTI_OK(ncclAllGather(nullptr, nullptr, 0, ncclInt64, self.comm, nullptr));
    TUTTI_OK(ncclAlltoAll(data, data, 0, ncclInt64, self.comm, nullptr));
    TUTTI_OK(ncclSend(data, 0, ncclInt64, peer, self.comm, nullptr));
    TUTTI_OK(ncclRecv(data, 0, ncclInt64, peer, self.comm, nullptr));
    EXPECT_EQ(kept, 5);
  });
}

TEST(NcclCalls, StreamsDoNotWaitForEachOther) {
  on_nccl_ranks(2, [](NcclRank& self) {
    test::ThreadStream other;
    const size_t count = 100;
    Row one = row_of(self.rank, count);
    Row two = row_of(self.rank, count, count);
    // The ranks' streams come to them in different orders; the calls are matched by theirs.
    test::ThreadStream* const first = self.rank == 0 ? &self.stream : &other;
    test::ThreadStream* const second = self.rank == 0 ? &other : &self.stream;
    TUTTI_OK(ncclAllReduce(one.data(), one.data(), count, ncclInt64, ncclSum, self.comm, first));
    TUTTI_OK(ncclAllReduce(two.data(), two.data(), count, ncclInt64, ncclSum, self.comm, second));
    self.stream.synchronize();
    other.synchronize();
    EXPECT_EQ(one, sum_of_rows(2, count));
    EXPECT_EQ(two, sum_of_rows(2, count, count));
  });
}

// The thread has moved on to another one.
TEST(NcclCalls, MemoryBesideIsOnTheCommunicatorsDevice) {
  on_nccl_ranks(2, [](NcclRank& self) {
    test::set_current_device(77);
    Row row{1, 2};
    TUTTI_OK(ncclAlltoAll(row.data(), row.data(), 1, ncclInt64, self.comm, &self.stream));
    EXPECT_EQ(test::num_allocations_on(77), 0);
    EXPECT_EQ(test::num_allocations_on(self.rank), 1);
    self.stream.synchronize();
  });
}

}  // namespace
}  // namespace tutti
