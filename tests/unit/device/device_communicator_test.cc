// Device communicators on threads of the host: all but the GPU itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "comm/diagnosis/findings.h"
#include "comm/diagnosis/report.h"
#include "comm/group.h"
#include "comm/node.h"
#include "tests/support/sanitized.h"
#include "tests/unit/device/device_job.h"

namespace tutti::test {
namespace {

using Self = DeviceJob::Self;
using testing::AllOf;
using testing::HasSubstr;

void check_rooted(Self& self, uint64_t elems, uint32_t root) {
  const uint32_t n = self.gpu.num_ranks();
  const auto data = self.numbers(elems, first_of(self.rank));
  const auto sums = self.room(elems);
  ASSERT_TRUE(self.gpu.reduce(read_only(data), sums, self.handle(), {.root = root}).ok());
  ASSERT_TRUE(self.gpu.broadcast(data, self.handle(), {.root = root}).ok());
  self.stream.synchronize();
  for (uint64_t i = 0; i < elems; ++i) {
    ASSERT_EQ(sums[i], self.rank == root ? sum_of(n, i) : -1);
    ASSERT_EQ(data[i], first_of(root) + static_cast<int64_t>(i));
  }
}

void check_blocks(Self& self, uint64_t elems) {
  const uint32_t n = self.gpu.num_ranks();
  const auto block = self.numbers(elems, first_of(self.rank));
  const auto row = self.numbers(elems * n, first_of(self.rank));
  const auto gathered = self.room(elems * n);
  const auto scattered = self.room(elems);
  const auto exchanged = self.room(elems * n);
  ASSERT_TRUE(self.gpu.all_gather(read_only(block), gathered, self.handle()).ok());
  ASSERT_TRUE(self.gpu.reduce_scatter(read_only(row), scattered, self.handle()).ok());
  ASSERT_TRUE(self.gpu.all_to_all(read_only(row), exchanged, self.handle()).ok());
  self.stream.synchronize();
  for (uint64_t i = 0; i < elems; ++i) {
    ASSERT_EQ(scattered[i], sum_of(n, self.rank * elems + i));
    for (uint32_t r = 0; r < n; ++r) {
      ASSERT_EQ(gathered[r * elems + i], first_of(r) + static_cast<int64_t>(i));
      ASSERT_EQ(exchanged[r * elems + i],
                first_of(r) + static_cast<int64_t>(self.rank * elems + i));
    }
  }
}

TEST(DeviceCommunicator, EveryCollectiveIsExactWhereverRanksAre) {
  for (const Placing placing : kPlacings) {
    for (const uint32_t n : {1u, 2u, 4u}) {
      DeviceJob job(n, placing);
      job.run([&](Self& self) {
        for (const uint64_t elems : {0ul, 1ul, 13ul, 5003ul, 300'000ul}) {
          check_all_reduce(self, elems);
          check_rooted(self, elems, n - 1);
          check_blocks(self, elems);
        }
        EXPECT_TRUE(self.gpu.finish().ok());
      });
    }
  }
}

// Each rank on streams of its own, each in an order of its own.
TEST(DeviceCommunicator, NamedCallsMayComeInAnyOrder) {
  constexpr uint32_t kCalls = kSanitized ? 24 : 60;
  for (const Placing placing : kPlacings) {
    DeviceJob job(4, placing);
    job.run([&](Self& self) {
      ThreadStream streams[3];
      std::vector<uint32_t> order(kCalls);
      for (uint32_t i = 0; i < kCalls; ++i) order[i] = i;
      // What is behind in a stream waits for what is before: streams agree on the order within.
      std::mt19937_64 random(self.rank);
      std::vector<std::span<int64_t>> data(kCalls);
      for (uint32_t i = 0; i < kCalls; ++i) data[i] = self.numbers(1 + 200 * (i % 7), i);
      std::vector<uint32_t> next(3);
      for (uint32_t left = kCalls; left > 0; --left) {
        uint32_t s = static_cast<uint32_t>(random() % 3);
        while (next[s] * 3 + s >= kCalls) s = (s + 1) % 3;
        const uint32_t call = next[s]++ * 3 + s;
        ASSERT_TRUE(
            self.gpu.all_reduce(data[call], &streams[s], {.name = "call " + std::to_string(call)})
                .ok());
      }
      for (ThreadStream& stream : streams) stream.synchronize();
      for (uint32_t call = 0; call < kCalls; ++call) {
        for (size_t i = 0; i < data[call].size(); ++i) {
          ASSERT_EQ(data[call][i], 4 * (call + static_cast<int64_t>(i))) << call;
        }
      }
    });
  }
}

// Everyone sends first: one after the other in a stream they would wait for each other for ever.
TEST(DeviceCommunicator, MessagesOfAGroupDoNotWaitForEachOther) {
  for (const Placing placing : kPlacings) {
    DeviceJob job(4, placing);
    job.run([](Self& self) {
      const uint32_t next = (self.rank + 1) % 4;
      const uint32_t before = (self.rank + 3) % 4;
      for (const uint64_t elems : {1ul, 3000ul}) {
        const auto sent = self.numbers(elems, first_of(self.rank));
        const auto received = self.room(elems);
        const auto own = self.room(elems);
        const Call calls[] = {message(sent, next, false), message(sent, self.rank, false),
                              message(received, before, true), message(own, self.rank, true)};
        ASSERT_TRUE(self.gpu.enqueue(calls, self.handle()).ok());
        self.stream.synchronize();
        for (uint64_t i = 0; i < elems; ++i) {
          ASSERT_EQ(received[i], first_of(before) + static_cast<int64_t>(i));
          ASSERT_EQ(own[i], sent[i]);
        }
      }
    });
  }
}

TEST(DeviceCommunicator, BlocksOfAnExchangeMayDiffer) {
  DeviceJob job(3, Placing::kProcesses);
  job.run([](Self& self) {
    // Rank r sends 10 * r + p numbers to rank p.
    std::vector<uint64_t> to(3);
    std::vector<uint64_t> from(3);
    uint64_t sent = 0;
    uint64_t received = 0;
    for (uint32_t p = 0; p < 3; ++p) {
      sent += to[p] = 10 * self.rank + p;
      received += from[p] = 10 * p + self.rank;
    }
    const auto input = self.numbers(sent, first_of(self.rank));
    const auto output = self.room(received);
    const Call call{.kind = CollectiveKind::kAllToAll,
                    .type = DataType::kInt64,
                    .input = input.data(),
                    .input_elems = sent,
                    .output = output.data(),
                    .output_elems = received,
                    .counts = to,
                    .output_counts = from};
    ASSERT_TRUE(self.gpu.enqueue(call, self.handle()).ok());
    self.stream.synchronize();
    size_t at = 0;
    for (uint32_t p = 0; p < 3; ++p) {
      uint64_t begin = 0;
      for (uint32_t q = 0; q < self.rank; ++q) begin += 10 * p + q;
      for (uint64_t i = 0; i < from[p]; ++i) {
        ASSERT_EQ(output[at++], first_of(p) + static_cast<int64_t>(begin + i));
      }
    }
  });
}

TEST(DeviceCommunicator, MemoryThatCannotBeSharedIsCopied) {
  DeviceJob job(2, Placing::kProcesses);
  job.run([](Self& self) {
    constexpr uint64_t kElems = 4000;
    auto* const data =
        reinterpret_cast<int64_t*>(self.device.allocate_private(kElems * sizeof(int64_t)));
    std::fill_n(data, kElems, first_of(self.rank));
    const auto out = self.room(kElems);
    ASSERT_TRUE(
        self.gpu.all_reduce(std::span<const int64_t>(data, kElems), out, self.handle()).ok());
    ASSERT_TRUE(self.gpu.all_reduce(std::span(data, kElems), self.handle()).ok());
    self.stream.synchronize();
    EXPECT_THAT(std::vector(out.begin(), out.end()), testing::Each(3000));
    EXPECT_THAT(std::vector(data, data + kElems), testing::Each(3000));
  });
}

// So large that it lies in memory of its own, which nobody has mapped before.
constexpr uint64_t kElemsApart = 600'000;

TEST(DeviceCommunicator, MemoryThatCannotBeMappedFailsItsOperationAlone) {
  DeviceJob job(3, Placing::kProcesses);
  job.run([&](Self& self) {
    const auto all = self.comm.split(0, 0).value();
    auto other = DeviceCommunicator(comm::DeviceGroup::create(all, job.host(self.rank)).value());
    check_all_reduce_of(other, self, 1000);  // its memory is known from now on
    const auto small = self.numbers(1000, first_of(self.rank));
    const auto large = self.numbers(kElemsApart);
    if (self.rank == 0) self.device.refuse_to_map();
    ThreadStream stream;
    ASSERT_TRUE(
        self.gpu.all_reduce(large, &stream, {.deadline = std::chrono::milliseconds(300)}).ok());
    ASSERT_TRUE(other.all_reduce(small, self.handle()).ok());
    EXPECT_TRUE(other.finish().ok());
    for (uint64_t i = 0; i < small.size(); ++i) ASSERT_EQ(small[i], sum_of(3, i));
    const Status status = self.gpu.finish();
    ASSERT_FALSE(status.ok());
    if (self.rank == 0) {
      EXPECT_THAT(status.error().message,
                  AllOf(HasSubstr("cannot be reached"), HasSubstr("no room to map it")));
    } else {
      EXPECT_EQ(status.error().code, ErrorCode::kDeadline);
      EXPECT_THAT(status.error().message, AllOf(HasSubstr("step"), HasSubstr("rank 0")));
    }
    stream.synchronize();
    // Also a call whose memory is beside that: its numbers come along with the word of it.
    check_all_reduce_of(other, self, 3);
  });
}

TEST(DeviceCommunicator, CommunicatorsShareTheirRanksDaemons) {
  DeviceJob job(4, Placing::kPairs);
  job.run([&](Self& self) {
    const auto half = self.comm.split(self.rank % 2, 0).value();
    auto gpu = DeviceCommunicator(comm::DeviceGroup::create(half, job.host(self.rank)).value());
    const auto all_data = self.numbers(500, first_of(self.rank));
    const auto half_data = self.numbers(500, first_of(self.rank));
    ThreadStream other;
    // Half of the ranks call in one order, half in the other, on streams that wait for nothing
    // else.
    const auto call_half = [&] { ASSERT_TRUE(gpu.all_reduce(half_data, &other).ok()); };
    if (self.rank < 2) call_half();
    ASSERT_TRUE(self.gpu.all_reduce(all_data, self.handle()).ok());
    if (self.rank >= 2) call_half();
    self.stream.synchronize();
    other.synchronize();
    EXPECT_EQ(all_data[7], sum_of(4, 7));
    EXPECT_EQ(half_data[7], first_of(self.rank % 2) + first_of(self.rank % 2 + 2) + 14);
  });
}

TEST(DeviceCommunicator, AnOperationWaitsForWhatIsBeforeItInItsStream) {
  DeviceJob job(2);
  job.run([](Self& self) {
    const auto data = self.room(300);
    std::promise<void> is_enqueued;
    self.stream.add([&, enqueued = is_enqueued.get_future().share()] {
      // Liveness: said when the operation is in the stream.
      enqueued.wait();
      std::fill(data.begin(), data.end(), 5);
    });
    ASSERT_TRUE(self.gpu.all_reduce(data, self.handle()).ok());
    int64_t seen = 0;
    self.stream.add([&] { seen = data[299]; });
    // Rank 1's is there, and could begin, before rank 0's stream comes to its own.
    if (self.rank == 1) is_enqueued.set_value();
    ASSERT_TRUE(self.comm.barrier().wait().ok());
    if (self.rank == 0) is_enqueued.set_value();
    self.stream.synchronize();
    EXPECT_EQ(seen, 10);
  });
}

TEST(DeviceCommunicator, BadCallsAreRefusedBeforeAnythingMoves) {
  DeviceJob job(2);
  job.run([](Self& self) {
    int64_t on_host[4] = {};
    const Status not_there = self.gpu.all_reduce(std::span<int64_t>(on_host), self.handle());
    ASSERT_FALSE(not_there.ok());
    EXPECT_THAT(not_there.error().message, HasSubstr("not memory of the GPU"));
    const auto data = self.numbers(4);
    EXPECT_FALSE(self.gpu.broadcast(data, self.handle(), {.root = 2}).ok());
    EXPECT_FALSE(self.gpu.all_reduce(data, nullptr).ok());
    const Call alone[] = {message(data, self.rank, false)};
    const Status unmatched = self.gpu.enqueue(alone, self.handle());
    ASSERT_FALSE(unmatched.ok());
    EXPECT_THAT(unmatched.error().message, HasSubstr("together with its receipt"));
    EXPECT_TRUE(self.gpu.status().ok());
    check_all_reduce(self, 100);
  });
}

TEST(DeviceCommunicator, RanksThatCallDifferentThingsHearOfIt) {
  DeviceJob job(2, Placing::kProcesses);
  job.run([](Self& self) {
    const auto data = self.numbers(self.rank == 0 ? 50 : 49);
    ASSERT_TRUE(self.gpu.all_reduce(data, self.handle(), {.name = "grad"}).ok());
    const Status status = self.gpu.finish();
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().message,
                AllOf(HasSubstr("ranks disagree on all_reduce \"grad\": "),
                      HasSubstr("rank 0 called all_reduce of 50 int64, sum"),
                      HasSubstr("rank 1 called all_reduce of 49 int64, sum")));
    EXPECT_EQ(data[1], 1);
  });
}

TEST(DeviceCommunicator, EndsOfAMessageThatDifferAreNamedByTheirRanks) {
  DeviceJob job(4);
  job.run([](Self& self) {
    if (self.rank < 2) return;
    const auto data = self.numbers(self.rank == 3 ? 50 : 49);
    const Call call = self.rank == 3 ? message(data, 2, false) : message(data, 3, true);
    ASSERT_TRUE(self.gpu.enqueue(call, self.handle()).ok());
    const Status status = self.gpu.finish();
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().message, AllOf(HasSubstr("ranks disagree on send_recv #0: "),
                                              HasSubstr("rank 3 called send_recv of 50 int64"),
                                              HasSubstr("rank 2 called send_recv of 49 int64")));
  });
}

// The deadline is long enough for those who call to hear of each other on a busy machine.
TEST(DeviceCommunicator, WhoDoesNotCallIsNamedAtTheDeadline) {
  DeviceJob job(3);
  job.run([](Self& self) {
    if (self.rank == 1) return;
    const auto data = self.numbers(50);
    ASSERT_TRUE(
        self.gpu.all_reduce(data, self.handle(), {.deadline = std::chrono::milliseconds(500)})
            .ok());
    const Status status = self.gpu.finish();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kDeadline);
    EXPECT_THAT(status.error().message,
                AllOf(HasSubstr("rank 1 had not called all_reduce #0 of 50 int64, sum"),
                      HasSubstr("deadline of rank " + std::to_string(self.rank))));
  });
}

TEST(DeviceCommunicator, WhatIsUnderWayEndsWhenTheDeviceFails) {
  DeviceJob job(2);
  job.run([](Self& self) {
    check_all_reduce(self, 100);
    ASSERT_TRUE(self.comm.barrier().wait().ok());
    if (self.rank == 1) return;
    const auto data = self.numbers(50);
    ASSERT_TRUE(self.gpu.all_reduce(data, self.handle()).ok());
    self.device.die();
    const Status status = self.gpu.finish();
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().message, AllOf(HasSubstr("the GPU of rank 0 has failed"),
                                              HasSubstr("illegal memory access")));
    EXPECT_FALSE(self.gpu.all_reduce(data, self.handle()).ok());
  });
}

TEST(DeviceCommunicator, AbortEndsWhatWaitsAndRefusesTheRest) {
  DeviceJob job(2);
  job.run([](Self& self) {
    if (self.rank == 1) return;
    const auto data = self.numbers(50);
    ASSERT_TRUE(self.gpu.all_reduce(data, self.handle()).ok());
    self.gpu.abort();
    EXPECT_EQ(self.gpu.finish().error().code, ErrorCode::kAborted);
    EXPECT_EQ(self.gpu.all_reduce(data, self.handle()).error().code, ErrorCode::kAborted);
  });
}

comm::Findings findings_of(const Communicator& comm) {
  const transport::Endpoint& endpoint = comm.group()->node().engine.endpoint();
  std::vector<std::optional<comm::Board>> boards;
  for (uint32_t r = 0; r < comm.num_ranks(); ++r) {
    boards.push_back(comm::read_board(endpoint.board(Rank{r})));
  }
  return comm::find(std::move(boards), base::now_ns());
}

TEST(DeviceCommunicator, StreamsThatWaitForEachOtherAreOnTheBoards) {
  setenv("TUTTI_REPORT_AFTER", "0.04", 1);  // boards come a quarter of it
  DeviceJob job(2);
  unsetenv("TUTTI_REPORT_AFTER");
  job.run([](Self& self) {
    const auto data = self.numbers(50);
    for (const char* name : {"a", "b"}) {
      // Each rank in the other order: no stream comes to its second one.
      const char* const own = self.rank == 0 ? name : name == std::string("a") ? "b" : "a";
      ASSERT_TRUE(self.gpu.all_reduce(data, self.handle(), {.name = own}).ok());
    }
    // What is judged is what had the ring: a later look may come while a board is being written.
    comm::Findings findings = findings_of(self.comm);
    // Liveness: ranks with operations keep writing boards; ctest's time limit ends a failed test.
    while (findings.stream_ring.empty()) {
      std::this_thread::yield();
      findings = findings_of(self.comm);
    }
    EXPECT_THAT(comm::wait_report(findings, 0),
                AllOf(HasSubstr("all_reduce \"a\" of 50 int64, sum, on the GPU"),
                      HasSubstr("all_reduce \"a\" is behind all_reduce \"b\" on rank 1")));
    // Nobody ends it before both have seen it.
    ASSERT_TRUE(self.comm.barrier().wait().ok());
    self.gpu.abort();
    EXPECT_EQ(self.gpu.finish().error().code, ErrorCode::kAborted);
    // Liveness: as above; a board without operations is the last one.
    while (!findings_of(self.comm).operations.empty()) std::this_thread::yield();
  });
}

}  // namespace
}  // namespace tutti::test
