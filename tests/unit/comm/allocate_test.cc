// Memory from the library: what it is, who waits for whom, and when it goes. That every collective
// works on it is for matrix_test.cc, and between processes for tests/jobs.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <ranges>
#include <vector>

#include "tests/unit/comm/on_ranks.h"
#include "tests/unit/comm/ranks.h"
#include "tutti/memory.h"

namespace tutti {
namespace {

using test::numbers;
using test::Ranks;

static_assert(std::ranges::contiguous_range<Buffer<float>>);

constexpr uint64_t kElems = 20'000;  // more than is mirrored for the caller's convenience

Buffer<int64_t> filled(const Communicator& comm, uint64_t elems, int64_t first) {
  auto buffer = allocate<int64_t>(comm, elems).value();
  std::iota(buffer.begin(), buffer.end(), first);
  return buffer;
}

TEST(SharedMemory, IsZeroAndBeginsWhereAPageDoes) {
  const Communicator comm = Communicator::threads(1).value()[0];
  for (const uint64_t elems : {uint64_t{1}, uint64_t{1000}, uint64_t{1} << 19}) {
    auto buffer = allocate<int64_t>(comm, elems).value();
    ASSERT_EQ(buffer.size(), elems);
    const uint64_t grain = elems * sizeof(int64_t) < (2 << 20) ? 4096 : 2 << 20;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % grain, 0u);
    EXPECT_EQ(std::ranges::count(buffer, 0), static_cast<int64_t>(elems));
    std::ranges::fill(buffer, 5);
    const int64_t* const before = buffer.data();
    buffer = {};
    buffer = allocate<int64_t>(comm, elems).value();
    EXPECT_EQ(buffer.data(), before);
    EXPECT_EQ(std::ranges::count(buffer, 0), static_cast<int64_t>(elems));
  }
}

TEST(SharedMemory, OfNothingIsNothing) {
  const Communicator comm = Communicator::threads(1).value()[0];
  const auto buffer = allocate<float>(comm, 0).value();
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.data(), nullptr);
}

TEST(SharedMemory, OfMoreThanThereIsIsRefused) {
  const Communicator comm = Communicator::threads(1).value()[0];
  for (const uint64_t elems : {uint64_t{1} << 50, UINT64_MAX / 8, UINT64_MAX}) {
    const auto buffer = allocate<int64_t>(comm, elems);
    ASSERT_FALSE(buffer.ok());
    EXPECT_EQ(buffer.error().code, ErrorCode::kOutOfMemory);
  }
}

TEST(SharedMemory, OutlivesItsCommunicator) {
  Buffer<int64_t> buffer;
  {
    const Communicator comm = Communicator::threads(1).value()[0];
    buffer = filled(comm, kElems, 3);
  }
  EXPECT_EQ(buffer[kElems - 1], static_cast<int64_t>(kElems) + 2);
}

TEST(SharedMemory, IsReadWhereItLies) {
  constexpr uint64_t kLarge = uint64_t{1} << 20;
  const auto arena_after_broadcast = [&](bool shared) {
    Ranks ranks = Ranks::processes(2);
    Communicator root = ranks.comm(0);
    Communicator other = ranks.comm(1);
    std::vector<int64_t> ordinary = shared ? std::vector<int64_t>{} : numbers(kLarge, 7);
    Buffer<int64_t> own = shared ? filled(root, kLarge, 7) : Buffer<int64_t>{};
    std::vector<int64_t> got(kLarge);
    Work sent = root.broadcast(shared ? own.span() : std::span(ordinary));
    EXPECT_TRUE(other.broadcast(std::span(got)).wait());
    EXPECT_TRUE(sent.wait());
    EXPECT_EQ(got, numbers(kLarge, 7));
    return ranks.node(0).engine.endpoint().arena().touched();
  };
  EXPECT_GE(arena_after_broadcast(false), kLarge * sizeof(int64_t));
  EXPECT_LT(arena_after_broadcast(true), kLarge * sizeof(int64_t));
}

// A small message is copied, as ordinary memory is, so that its sender need not wait.
TEST(SharedMemory, BelongsToItsReadersUntilTheyAreDone) {
  Ranks ranks = Ranks::processes(2);
  Communicator sender = ranks.comm(0);
  Communicator receiver = ranks.comm(1);
  Buffer<int64_t> small = filled(sender, 1000, 1);
  Buffer<int64_t> large = filled(sender, kElems, 2);
  Work small_sent = sender.send(small.span(), 1, {.name = "small"});
  Work large_sent = sender.send(large.span(), 1, {.name = "large"});
  EXPECT_TRUE(small_sent.test());
  EXPECT_FALSE(large_sent.test());
  std::ranges::fill(small, 0);
  std::vector<int64_t> got(kElems);
  ASSERT_TRUE(receiver.recv(std::span(got), 0, {.name = "large"}).wait());
  EXPECT_EQ(got, numbers(kElems, 2));
  EXPECT_TRUE(large_sent.wait());
  got.resize(1000);
  ASSERT_TRUE(receiver.recv(std::span(got), 0, {.name = "small"}).wait());
  EXPECT_EQ(got, numbers(1000, 1));
}

TEST(SharedMemory, MayBeginAnywhereAndMeetOrdinaryMemory) {
  Ranks ranks = Ranks::processes(2);
  Communicator first = ranks.comm(0);
  Communicator second = ranks.comm(1);
  Buffer<int64_t> shared = filled(first, 2 * kElems, 0);
  // Input and output are neighbours in one buffer here, and two vectors there.
  const auto input = std::span<const int64_t>(shared.span().subspan(1, kElems - 1));
  const auto output = shared.span().subspan(kElems, kElems - 1);
  const std::vector<int64_t> given = numbers(kElems - 1, 100);
  std::vector<int64_t> got(kElems - 1);
  Work work = first.all_reduce(input, output);
  ASSERT_TRUE(second.all_reduce(std::span(given), std::span(got)).wait());
  ASSERT_TRUE(work.wait());
  for (uint64_t i = 0; i < kElems - 1; ++i) {
    ASSERT_EQ(got[i], static_cast<int64_t>(2 * i + 101));
    ASSERT_EQ(output[i], got[i]);
  }
  EXPECT_EQ(shared[2 * kElems - 1], static_cast<int64_t>(2 * kElems - 1));
}

TEST(SharedMemory, FreedTooEarlyStaysUntilTheOperationIsOver) {
  for (const bool as_processes : {false, true}) {
    Ranks ranks = as_processes ? Ranks::processes(2) : Ranks(2);
    Communicator sender = ranks.comm(0);
    Communicator receiver = ranks.comm(1);
    Buffer<int64_t> buffer = filled(sender, kElems, 4);
    const int64_t* const place = buffer.data();
    Work sent = sender.send(buffer.span(), 1);
    buffer = {};
    const Buffer<int64_t> next = filled(sender, kElems, -1'000'000);
    EXPECT_NE(next.data(), place);
    std::vector<int64_t> got(kElems);
    ASSERT_TRUE(receiver.recv(std::span(got), 0).wait());
    EXPECT_EQ(got, numbers(kElems, 4));
    ASSERT_TRUE(sent.wait());
    EXPECT_EQ(allocate<int64_t>(sender, kElems).value().data(), place);
  }
}

TEST(SharedMemory, IsHandedOutToThreadsAtOnce) {
  Communicator comm = Communicator::threads(1).value()[0];
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&comm, t] {
      for (int round = 0; round < 50; ++round) {
        const Buffer<int64_t> a = filled(comm, 700, t);
        const Buffer<int64_t> b = filled(comm, 10, t + 1);
        ASSERT_TRUE(std::ranges::equal(a, numbers(700, t)));
        ASSERT_TRUE(std::ranges::equal(b, numbers(10, t + 1)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tutti
