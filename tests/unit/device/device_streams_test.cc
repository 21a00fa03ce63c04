// What streams are to device communicators: themselves, not their handles.
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <optional>
#include <thread>

#include "tests/unit/device/device_job.h"

namespace tutti::test {
namespace {

using Self = DeviceJob::Self;

// Two threads of a rank use one handle, each for its own stream. The second thread's stream comes
// to its operation when the first one's has not.
TEST(DeviceStreams, AHandleThatIsAnotherStreamInEachThreadIsSeveral) {
  DeviceJob job(2);
  job.run([](Self& self) {
    auto* const handle = static_cast<DeviceStream>(kOwnStream);
    const auto late = self.room(300);
    const auto early = self.numbers(300, first_of(self.rank));
    std::promise<void> may_go_on;
    std::promise<void> is_enqueued;
    std::thread first([&] {
      ThreadStream::of_thread().add([&, going_on = may_go_on.get_future().share()] {
        // Liveness: the other thread says so when its operation is over.
        going_on.wait();
        std::fill(late.begin(), late.end(), 5);
      });
      ASSERT_TRUE(self.gpu.all_reduce(late, handle, {.name = "late"}).ok());
      is_enqueued.set_value();
      ThreadStream::of_thread().synchronize();
    });
    // Liveness: the thread does nothing else.
    is_enqueued.get_future().wait();
    EXPECT_TRUE(self.gpu.all_reduce(early, handle, {.name = "early"}).ok());
    ThreadStream::of_thread().synchronize();
    may_go_on.set_value();
    first.join();
    EXPECT_EQ(early[299], sum_of(2, 299));
    EXPECT_EQ(late[299], 10);
  });
}

// At the place of another one, with its handle.
TEST(DeviceStreams, StreamsThatComeAndGoAreForgotten) {
  DeviceJob job(2);
  job.run([&](Self& self) {
    std::optional<ThreadStream> stream;
    for (size_t i = 0; i < comm::DeviceNode::kManyStreams + 20; ++i) {
      auto* const handle = reinterpret_cast<DeviceStream>(&stream.emplace());
      const auto data = self.numbers(20, first_of(self.rank));
      ASSERT_TRUE(self.gpu.all_reduce(data, handle).ok());
      stream->synchronize();
      ASSERT_EQ(data[19], sum_of(2, 19));
    }
    comm::DeviceNode& node = *job.host(self.rank).node(self.rank, 2).value();
    EXPECT_EQ(node.num_streams(), comm::DeviceNode::kManyStreams);
  });
}

// The stream comes to the operation after the communicator has gone.
TEST(DeviceStreams, TheEndOfAnAbortedCommunicatorWaitsForNoStream) {
  for (const Placing placing : {Placing::kOneProcess, Placing::kProcesses}) {
    DeviceJob job(2, placing);
    job.run([&](Self& self) {
      std::promise<void> may_go_on;
      self.stream.add([going_on = may_go_on.get_future().share()] {
        // Liveness: said when the communicator has gone.
        going_on.wait();
      });
      const auto data = self.numbers(300);
      {
        auto gpu =
            DeviceCommunicator(comm::DeviceGroup::create(self.comm, job.host(self.rank)).value());
        ASSERT_TRUE(gpu.all_reduce(data, self.handle()).ok());
        EXPECT_FALSE(gpu.is_idle());
        gpu.abort();
        EXPECT_FALSE(gpu.is_idle());
      }
      may_go_on.set_value();
      check_all_reduce(self, 100);
    });
  }
}

}  // namespace
}  // namespace tutti::test
