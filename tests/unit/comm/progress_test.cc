// Operations move while nobody waits for them.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "comm/progress_thread.h"
#include "tests/unit/comm/ranks.h"
#include "tutti/communicator.h"

namespace tutti::comm {
namespace {

using test::Ranks;

// Every rank issues an all_reduce and then calls nothing until it is over.
void all_reduce_alone(Ranks& ranks, uint64_t elems) {
  const int64_t n = ranks.size();
  std::vector<std::vector<int64_t>> data;
  std::vector<Work> works;
  for (uint32_t r = 0; r < ranks.size(); ++r) data.emplace_back(elems, r);
  for (uint32_t r = 0; r < ranks.size(); ++r) {
    works.push_back(ranks.comm(r).all_reduce(std::span(data[r])));
  }
  ranks.await_idle();
  for (uint32_t r = 0; r < ranks.size(); ++r) {
    ASSERT_TRUE(works[r].wait());
    ASSERT_EQ(data[r], std::vector<int64_t>(elems, n * (n - 1) / 2));
  }
}

TEST(Progress, CompletesOperationsThatNobodyWaitsFor) {
  Ranks ranks(4);
  for (const uint64_t elems : {1u, 59u, 5'000u, 200'000u}) all_reduce_alone(ranks, elems);
}

TEST(Progress, CompletesManyOperationsAtOnce) {
  Ranks ranks(3);
  std::vector<std::vector<int64_t>> data(3 * 50, std::vector<int64_t>(3'000, 1));
  std::vector<Work> works;
  for (size_t i = 0; i < data.size(); ++i) {
    works.push_back(ranks.comm(static_cast<uint32_t>(i % 3)).all_reduce(std::span(data[i])));
  }
  ranks.await_idle();
  for (Work& work : works) ASSERT_TRUE(work.wait());
  for (const auto& row : data) ASSERT_EQ(row, std::vector<int64_t>(3'000, 3));
}

TEST(Progress, BeginsAgainAfterItFellAsleep) {
  Ranks ranks(2);
  for (int round = 0; round < 3; ++round) {
    ranks.await_sleep();
    all_reduce_alone(ranks, 40'000);
  }
}

TEST(Progress, IsHandedBackAndForthBetweenWaitersAndTheThread) {
  Ranks ranks(2);
  // Rank 1 is moved by its background thread alone, rank 0 by one that waits.
  for (int round = 0; round < 20; ++round) {
    std::vector<int64_t> waits(20'000, 1);
    std::vector<int64_t> computes(20'000, 2);
    Work quiet = ranks.comm(1).all_reduce(std::span(computes));
    ASSERT_TRUE(ranks.comm(0).all_reduce(std::span(waits)).wait());
    ranks.await_idle();
    ASSERT_TRUE(quiet.wait());
    ASSERT_EQ(waits[19'999], 3);
    ASSERT_EQ(computes[19'999], 3);
  }
}

}  // namespace
}  // namespace tutti::comm
