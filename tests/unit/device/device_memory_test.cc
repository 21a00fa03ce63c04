// Memory of a device that programs and operations take: bounded, and taken before it is needed.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>

#include "tests/support/sanitized.h"
#include "tests/unit/device/device_job.h"

namespace tutti::test {
namespace {

using Self = DeviceJob::Self;

constexpr DeviceBounds kTight{.reserved = uint64_t{1} << 20, .programs = uint64_t{128} << 10};
constexpr uint64_t kShapes = kSanitized ? 300 : 2000;

// Every call has another shape, and sums of what the last shape left would be wrong.
void call_shapes(Self& self, DeviceCommunicator& gpu, uint64_t num_shapes, ThreadStream& stream) {
  const auto data = self.numbers(num_shapes + 1, first_of(self.rank));
  const auto out = self.room(num_shapes + 1);
  for (uint64_t elems = 1; elems <= num_shapes; ++elems) {
    ASSERT_TRUE(gpu.all_reduce(read_only(data.first(elems)), out.first(elems), &stream).ok());
    stream.synchronize();
    ASSERT_EQ(out[0], sum_of(gpu.num_ranks(), 0)) << elems;
    ASSERT_EQ(out[elems - 1], sum_of(gpu.num_ranks(), elems - 1)) << elems;
    ASSERT_EQ(out[elems], -1) << elems;
    out[0] = out[elems - 1] = -1;
  }
}

TEST(DeviceMemory, ThousandsOfShapesStayWithinTheBound) {
  for (const Placing placing : {Placing::kOneProcess, Placing::kProcesses}) {
    DeviceJob job(2, placing, kTight);
    job.run([&](Self& self) {
      const uint32_t place = placing == Placing::kOneProcess ? self.rank : 0;
      comm::DeviceNode& node = *job.host(self.rank).node(place, 2).value();
      call_shapes(self, self.gpu, kShapes, self.stream);
      ASSERT_TRUE(self.gpu.finish().ok());
      const uint64_t last = uint64_t{16} << 10;  // at most: the program that was added last
      EXPECT_LE(node.programs().bytes(), kTight.programs + last);
      EXPECT_LT(node.programs().num_programs(), kShapes);
      EXPECT_EQ(node.daemon().memory().device.bytes_of_device(), kTight.reserved);
    });
  }
}

// Nothing is asked of the driver while operations are under way, after the first use of a stream.
TEST(DeviceMemory, NothingIsTakenFromTheDeviceForNewShapes) {
  DeviceJob job(2, Placing::kOneProcess, kTight);
  job.run([](Self& self) {
    const auto data = self.numbers(100, first_of(self.rank));
    ASSERT_TRUE(self.gpu.all_reduce(data.first(1), self.handle()).ok());
    int num_taken = 0;
    ThreadDevice::on_memory_of_thread([&] { ++num_taken; });
    for (uint64_t elems = 2; elems <= 100; ++elems) {
      EXPECT_TRUE(self.gpu.all_reduce(data.first(elems), self.handle()).ok());
    }
    ThreadDevice::on_memory_of_thread(nullptr);
    EXPECT_EQ(num_taken, 0);
  });
}

// Its stream has not come to it when all other shapes have come and gone.
TEST(DeviceMemory, AShapeInUseIsNeverForgotten) {
  DeviceJob job(2, Placing::kOneProcess, kTight);
  job.run([&](Self& self) {
    ThreadStream late;
    std::promise<void> may_go_on;
    late.add([going_on = may_go_on.get_future().share()] {
      // Liveness: said when the other shapes were called.
      going_on.wait();
    });
    const auto small = self.numbers(7, first_of(self.rank));
    const auto large = self.numbers(30'000, first_of(self.rank));
    ASSERT_TRUE(self.gpu.all_reduce(small, &late, {.name = "small"}).ok());
    ASSERT_TRUE(self.gpu.all_reduce(large, &late, {.name = "large"}).ok());
    call_shapes(self, self.gpu, kShapes / 4, self.stream);
    may_go_on.set_value();
    late.synchronize();
    EXPECT_EQ(small[6], sum_of(2, 6));
    for (uint64_t i = 0; i < large.size(); ++i) ASSERT_EQ(large[i], sum_of(2, i));
  });
}

// The daemon goes on knowing an operation that was given up until all members have called it.
TEST(DeviceMemory, TheProgramOfWhatWasGivenUpIsNeverForgotten) {
  DeviceJob job(2, Placing::kOneProcess, kTight);
  job.run([&](Self& self) {
    const auto data = self.numbers(3, first_of(self.rank));  // which travels with the call
    CallOptions options{.name = "late"};
    if (self.rank == 0) {
      options.deadline = std::chrono::milliseconds(1);
      ThreadStream stream;
      auto gpu = self.gpu;
      ASSERT_TRUE(gpu.all_reduce(data, &stream, options).ok());
      stream.synchronize();
    }
    call_shapes(self, self.gpu, kShapes / 4, self.stream);
    if (self.rank == 1) {
      ASSERT_TRUE(self.gpu.all_reduce(data, self.handle(), options).ok());
    }
    self.stream.synchronize();
    check_all_reduce(self, 3000);
    EXPECT_EQ(self.gpu.finish().ok(), self.rank == 1);
  });
}

TEST(DeviceMemory, ACommunicatorsMemoryIsTheNextOnes) {
  DeviceJob job(2, Placing::kOneProcess, kTight);
  job.run([&](Self& self) {
    comm::DeviceNode& node = *job.host(self.rank).node(self.rank, 2).value();
    for (uint32_t i = 0; i < (kSanitized ? 10 : 40); ++i) {
      DeviceCommunicator gpu(comm::DeviceGroup::create(self.comm, job.host(self.rank)).value());
      call_shapes(self, gpu, 10, self.stream);
    }
    EXPECT_EQ(node.daemon().memory().device.bytes_of_device(), kTight.reserved);
    EXPECT_LE(node.programs().num_programs(), 10u);
  });
}

}  // namespace
}  // namespace tutti::test
