// Several threads of each rank issue at once, on one communicator.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/support/sanitized.h"
#include "tests/unit/comm/on_ranks.h"
#include "tutti/communicator.h"

namespace tutti {
namespace {

using test::on_ranks;

constexpr uint32_t kThreads = 8;

// Each thread has names of its own and goes through them in an order of its own; now and then it
// looks whether they are over.
void issue(Communicator& comm, uint32_t thread) {
  constexpr uint32_t kCalls = test::kSanitized ? 12 : 60;
  constexpr uint64_t kSizes[] = {1, 50, 700, 9000};
  std::vector<std::vector<int64_t>> data(kCalls);
  Work rest;
  for (uint32_t i = 0; i < kCalls; ++i) {
    const uint32_t call = (i * 7 + comm.rank() * 5) % kCalls;
    const std::string name = std::to_string(thread) + "/" + std::to_string(call);
    data[call].assign(kSizes[call % 4], thread + call);
    rest += comm.all_reduce(std::span(data[call]), {.name = name});
    if (i % 5 == 0) (void)rest.test();
  }
  ASSERT_TRUE(rest.wait());
  for (uint32_t call = 0; call < kCalls; ++call) {
    const auto want = static_cast<int64_t>(comm.num_ranks() * (thread + call));
    ASSERT_EQ(data[call], std::vector<int64_t>(kSizes[call % 4], want)) << thread << "/" << call;
  }
}

TEST(Threads, OfARankMayIssueAndWaitAtOnce) {
  on_ranks(3, [](Communicator& comm) {
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < kThreads; ++t) threads.emplace_back([&, t] { issue(comm, t); });
    for (std::thread& thread : threads) thread.join();
  });
}

// Two threads of a rank, each waiting for a different peer's message, keep nobody from going on.
TEST(Threads, OfARankMayBlockInDifferentCalls) {
  on_ranks(3, [](Communicator& comm) {
    const uint32_t n = comm.num_ranks();
    std::vector<std::thread> threads;
    for (uint32_t peer = 0; peer < n; ++peer) {
      threads.emplace_back([&, peer] {
        for (uint64_t round = 0; round < 50; ++round) {
          std::vector<int64_t> out(10 + round * 100, comm.rank());
          std::vector<int64_t> in(out.size());
          Work sent = comm.send(std::span(out), peer, {.tag = round});
          ASSERT_TRUE(comm.recv(std::span(in), peer, {.tag = round}).wait());
          ASSERT_TRUE(sent.wait());
          ASSERT_EQ(in, std::vector<int64_t>(in.size(), peer));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

}  // namespace
}  // namespace tutti
