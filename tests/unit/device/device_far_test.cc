// Memory that ranks in other processes have not mapped when it is first used: nothing that an
// operation needs may depend on the driver, which may map it only when the operation is over.
#include <gtest/gtest.h>

#include <chrono>

#include "tests/unit/device/device_job.h"

namespace tutti::test {
namespace {

using Self = DeviceJob::Self;

constexpr DeviceBounds kWithStaging{.reserved = uint64_t{1} << 20, .staging = uint64_t{1} << 20};
// Far longer than a call takes, and far shorter than anybody waits for a test.
constexpr CallOptions kSoon{.deadline = std::chrono::seconds(20)};

// Lets go before the device ends, whatever a test found.
class HeldMaps {
 public:
  explicit HeldMaps(ThreadDevice& device) : device_(device) { device_.hold_maps(); }
  ~HeldMaps() { device_.let_maps_go(); }
  HeldMaps(const HeldMaps&) = delete;
  HeldMaps& operator=(const HeldMaps&) = delete;

 private:
  ThreadDevice& device_;
};

// Of the user's own, and never used before.
std::span<int64_t> new_numbers(Self& self, uint64_t elems) {
  auto* const at = reinterpret_cast<int64_t*>(self.device.allocate_apart(elems * sizeof(int64_t)));
  for (uint64_t i = 0; i < elems; ++i) at[i] = first_of(self.rank) + static_cast<int64_t>(i);
  return {at, elems};
}

void check_sums(Self& self, std::span<const int64_t> sums) {
  const uint32_t n = self.gpu.num_ranks();
  for (uint64_t i = 0; i < sums.size(); ++i) ASSERT_EQ(sums[i], sum_of(n, i)) << sums.size();
}

void call_on_new_memory(Self& self, uint64_t elems) {
  const auto data = new_numbers(self, elems);
  const auto out = new_numbers(self, elems);
  ASSERT_TRUE(self.gpu.all_reduce(read_only(data), out, self.handle(), kSoon).ok());
  ASSERT_TRUE(self.gpu.all_reduce(data, self.handle(), kSoon).ok());
  self.stream.synchronize();
  check_sums(self, out);
  check_sums(self, data);
  const auto sent = new_numbers(self, elems);
  ASSERT_TRUE(self.gpu.broadcast(sent, self.handle(), kSoon).ok());
  self.stream.synchronize();
  for (uint64_t i = 0; i < elems; ++i) ASSERT_EQ(sent[i], first_of(0) + static_cast<int64_t>(i));
}

TEST(DeviceFar, CallsOnNewMemoryEndWhileNothingCanBeMapped) {
  for (const Placing placing : {Placing::kProcesses, Placing::kPairs}) {
    DeviceJob job(4, placing, kWithStaging);
    job.run([](Self& self) {
      ASSERT_TRUE(self.comm.barrier().wait().ok());
      const HeldMaps held(self.device);
      for (const uint64_t elems : {1ul, 18ul, 5003ul, 40'000ul}) call_on_new_memory(self, elems);
      EXPECT_TRUE(self.gpu.finish().ok());
      ASSERT_TRUE(self.comm.barrier().wait().ok());
    });
  }
}

// Each waits until the others have mapped its memory: nobody says so but that copies end.
TEST(DeviceFar, MemoryThatOthersHaveMappedIsNotCopied) {
  DeviceJob job(3, Placing::kProcesses, kWithStaging);
  job.run([](Self& self) {
    ASSERT_TRUE(self.comm.barrier().wait().ok());
    const auto data = new_numbers(self, 5003);
    const auto num_copies_of_call = [&] {
      const uint64_t before = self.device.num_copies();
      for (uint64_t i = 0; i < data.size(); ++i) {
        data[i] = first_of(self.rank) + static_cast<int64_t>(i);
      }
      EXPECT_TRUE(self.gpu.all_reduce(data, self.handle(), kSoon).ok());
      self.stream.synchronize();
      check_sums(self, data);
      return self.device.num_copies() - before;
    };
    {
      const HeldMaps held(self.device);
      ASSERT_TRUE(self.comm.barrier().wait().ok());
      EXPECT_EQ(num_copies_of_call(), 2u);
      EXPECT_EQ(num_copies_of_call(), 2u);
      ASSERT_TRUE(self.comm.barrier().wait().ok());
    }
    // Liveness: all map what was exported, now that they may; ctest's time limit ends a failed
    // test.
    for (int64_t is_copied = 1; is_copied != 0;) {
      int64_t own = num_copies_of_call() != 0 ? 1 : 0;
      ASSERT_TRUE(self.comm.all_reduce(std::span(&own, 1)).wait().ok());
      is_copied = own;
    }
    EXPECT_TRUE(self.gpu.finish().ok());
    EXPECT_EQ(num_copies_of_call(), 0u);
  });
}

// Then it is mapped when members hear of it, as it was before there was memory for copies.
TEST(DeviceFar, WhatDoesNotFitIntoMemoryForCopiesIsMappedOnDemand) {
  DeviceJob job(2, Placing::kProcesses, kWithStaging);
  job.run([](Self& self) {
    const uint64_t before = self.device.num_copies();
    call_on_new_memory(self, 200'000);
    EXPECT_TRUE(self.gpu.finish().ok());
    EXPECT_EQ(self.device.num_copies(), before);
  });
}

}  // namespace
}  // namespace tutti::test
