// Calls that are refused or fail on the way: nothing of them is left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/unit/device/device_job.h"

namespace tutti::test {
namespace {

using Self = DeviceJob::Self;
using testing::Each;
using testing::HasSubstr;

// Long enough for a busy machine; a test that fails ends with it.
constexpr CallOptions kBounded{.deadline = std::chrono::seconds(20)};

TEST(DeviceRefusals, AMessageToOneselfThatWasRefusedLeavesTheNextOnesAlone) {
  DeviceJob job(2);
  job.run([](Self& self) {
    const auto sent = self.numbers(40, first_of(self.rank));
    const auto received = self.room(40);
    const Call alone[] = {message(sent, self.rank, false)};
    EXPECT_FALSE(self.gpu.enqueue(alone, self.handle()).ok());
    for (int i = 0; i < 3; ++i) {
      const Call both[] = {message(received, self.rank, true), message(sent, self.rank, false)};
      const Status status = self.gpu.enqueue(both, self.handle());
      ASSERT_TRUE(status.ok()) << status.error().message;
    }
    self.stream.synchronize();
    EXPECT_EQ(received[39], sent[39]);
  });
}

// Only rank 0 errs. What it calls afterwards must meet what the others call.
TEST(DeviceRefusals, ACallThatOneRankWasRefusedShiftsNoneOfItsLaterOnes) {
  DeviceJob job(3, Placing::kProcesses);
  job.run([](Self& self) {
    std::vector<int64_t> on_host(30);
    const auto data = self.numbers(30);
    if (self.rank == 0) {
      EXPECT_FALSE(self.gpu.all_reduce(std::span(on_host), self.handle()).ok());
      const Call wrong[] = {message(data, 1, false), message(on_host, 2, true)};
      EXPECT_FALSE(self.gpu.enqueue(wrong, self.handle()).ok());
      EXPECT_FALSE(self.gpu.all_reduce(data, nullptr).ok());
      const std::vector<uint64_t> tens(3, 10);
      const Call exchange{.kind = CollectiveKind::kAllToAll,
                          .type = DataType::kInt64,
                          .input = data.data(),
                          .input_elems = 30,
                          .output = on_host.data(),
                          .output_elems = 30,
                          .counts = tens,
                          .output_counts = tens};
      EXPECT_FALSE(self.gpu.enqueue(exchange, self.handle()).ok());
    }
    check_all_reduce(self, 100, kBounded);
    const auto got = self.room(30);
    Call pair = self.rank == 0 ? message(data, 1, false) : message(got, 0, true);
    pair.options = kBounded;
    if (self.rank < 2) {
      EXPECT_TRUE(self.gpu.enqueue(pair, self.handle()).ok());
    }
    const Status status = self.gpu.finish();
    EXPECT_TRUE(status.ok()) << status.error().message;
  });
}

// The abort comes when the call has been let in and has not been handed over yet.
TEST(DeviceRefusals, AnAbortReachesACallThatIsBeingMade) {
  DeviceJob job(2);
  job.run([&](Self& self) {
    ASSERT_TRUE(self.comm.barrier().wait().ok());
    if (self.rank == 1) return;
    job.device(0).on_stream_check([&] { self.gpu.abort(); });
    const auto data = self.numbers(50);
    (void)self.gpu.all_reduce(data, self.handle());
    job.device(0).on_stream_check(nullptr);
    EXPECT_EQ(self.gpu.finish().error().code, ErrorCode::kAborted);
  });
}

TEST(DeviceRefusals, AStreamThatTakesNothingMoreLeavesNothingBehind) {
  DeviceJob job(2, Placing::kProcesses);
  job.run([&](Self& self) {
    const auto data = self.numbers(50, first_of(self.rank));
    if (self.rank == 0) job.device(0).refuse_after(0);
    const Status status = self.gpu.all_reduce(data, self.handle(), kBounded);
    EXPECT_EQ(status.ok(), self.rank == 1);
    // It can be called again.
    if (self.rank == 0) {
      ASSERT_TRUE(self.gpu.all_reduce(data, self.handle(), kBounded).ok());
    }
    const Status over = self.gpu.finish();
    EXPECT_TRUE(over.ok()) << over.error().message;
    EXPECT_EQ(data[7], sum_of(2, 7));
    check_all_reduce(self, 60, kBounded);
  });
}

// Memory that other processes cannot reach is copied to where they can, and back.
TEST(DeviceRefusals, WhatRanksDisagreeOnWritesNoOutputThatIsCopied) {
  DeviceJob job(2, Placing::kProcesses);
  job.run([](Self& self) {
    const uint64_t elems = self.rank == 0 ? 500 : 499;
    auto* const out =
        reinterpret_cast<int64_t*>(self.device.allocate_private(elems * sizeof(int64_t)));
    std::fill_n(out, elems, -7);
    const auto data = self.numbers(elems);
    ASSERT_TRUE(self.gpu.all_reduce(read_only(data), std::span(out, elems), self.handle()).ok());
    EXPECT_FALSE(self.gpu.finish().ok());
    self.stream.synchronize();
    EXPECT_THAT(std::vector(out, out + elems), Each(-7));
  });
}

TEST(DeviceRefusals, OnlyTheRootsOutputIsWrittenWhenItIsCopied) {
  DeviceJob job(2, Placing::kProcesses);
  job.run([](Self& self) {
    constexpr uint64_t kElems = 500;
    auto* const out =
        reinterpret_cast<int64_t*>(self.device.allocate_private(kElems * sizeof(int64_t)));
    std::fill_n(out, kElems, -7);
    const auto data = self.numbers(kElems, first_of(self.rank));
    ASSERT_TRUE(self.gpu
                    .reduce(read_only(data), std::span(out, kElems), self.handle(),
                            {.root = 1, .deadline = kBounded.deadline})
                    .ok());
    self.stream.synchronize();
    for (uint64_t i = 0; i < kElems; ++i) EXPECT_EQ(out[i], self.rank == 1 ? sum_of(2, i) : -7);
  });
}

}  // namespace
}  // namespace tutti::test
