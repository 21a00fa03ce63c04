// What streams are to device communicators: themselves, not their handles.
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "comm/diagnosis/findings.h"
#include "comm/diagnosis/report.h"
#include "comm/group.h"
#include "comm/node.h"
#include "tests/unit/device/device_job.h"

namespace tutti::test {
namespace {

using Self = DeviceJob::Self;

// Two threads of a rank use one handle, each for its own stream. The second thread's stream comes
// to its operation when the first one's has not.
TEST(DeviceStreams, AHandleThatIsAnotherStreamInEachThreadIsSeveral) {
  DeviceJob job(2);
  job.run([](Self& self) {
    DeviceStream const handle = kOwnStream;
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
      auto* const handle = &stream.emplace();
      const auto data = self.numbers(20, first_of(self.rank));
      ASSERT_TRUE(self.gpu.all_reduce(data, handle).ok());
      stream->synchronize();
      ASSERT_EQ(data[19], sum_of(2, 19));
    }
    comm::DeviceNode& node = *job.host(self.rank).node(self.rank, 2).value();
    EXPECT_EQ(node.num_streams(), comm::DeviceNode::kManyStreams);
  });
}

// A message to oneself is a copy in the stream: nobody but the stream knows when it is over.
TEST(DeviceStreams, WhatAStreamCopiesIsWaitedForToo) {
  DeviceJob job(1);
  job.run([](Self& self) {
    std::promise<void> may_go_on;
    self.stream.add([going_on = may_go_on.get_future().share()] {
      // Liveness: said when the communicator was seen not to be idle.
      going_on.wait();
    });
    const auto sent = self.numbers(300, 7);
    const auto received = self.room(300);
    const Call calls[] = {message(sent, 0, false), message(received, 0, true)};
    ASSERT_TRUE(self.gpu.enqueue(calls, self.handle()).ok());
    EXPECT_FALSE(self.gpu.is_idle());
    may_go_on.set_value();
    ASSERT_TRUE(self.gpu.finish().ok());
    EXPECT_EQ(received[299], sent[299]);
  });
}

TEST(DeviceStreams, CopiesOfADeviceThatHasFailedAreOver) {
  DeviceJob job(1);
  job.run([](Self& self) {
    std::promise<void> is_over;
    self.stream.add([over = is_over.get_future().share()] {
      // Liveness: said when the communicator has given up.
      over.wait();
    });
    const auto sent = self.numbers(300, 7);
    const auto received = self.room(300);
    const Call calls[] = {message(sent, 0, false), message(received, 0, true)};
    ASSERT_TRUE(self.gpu.enqueue(calls, self.handle()).ok());
    self.device.die();
    EXPECT_FALSE(self.gpu.finish().ok());
    is_over.set_value();
  });
}

// The driver may take its time, and other threads of the rank enqueue meanwhile.
TEST(DeviceStreams, TheDeviceIsAskedWithoutTheNodesLock) {
  DeviceJob job(2);
  job.run([&](Self& self) {
    comm::DeviceNode& node = *job.host(self.rank).node(self.rank, 2).value();
    std::optional<ThreadStream> stream;
    for (size_t i = 0; i < comm::DeviceNode::kManyStreams + 2; ++i) {
      stream.emplace();
      bool is_asked = false;
      const auto ask = [&] {
        is_asked = true;
        EXPECT_LE(node.num_streams(), comm::DeviceNode::kManyStreams);
      };
      ThreadDevice::on_memory_of_thread(ask);
      auto known = node.stream(stream->id(), &*stream);
      ThreadDevice::on_memory_of_thread(nullptr);
      ASSERT_TRUE(known.ok());
      EXPECT_EQ(is_asked, i < comm::DeviceNode::kManyStreams) << i;
    }
  });
}

// Eight streams of each rank, and both are in one process: too many may share a connection.
TEST(DeviceStreams, AReportSaysWhenManyWaitAtOnce) {
  constexpr size_t kStreams = comm::kCrowd / 2;
  DeviceJob job(2);
  job.run([](Self& self) {
    std::vector<std::span<int64_t>> data;
    std::vector<ThreadStream> streams(kStreams);
    const auto enqueue = [&](ThreadStream& stream, const std::string& name) {
      data.push_back(self.numbers(20, first_of(self.rank)));
      EXPECT_TRUE(self.gpu.all_reduce(data.back(), &stream, {.name = name}).ok());
    };
    // Each of its own, which the other one enqueues when the report was seen.
    const auto name_of = [](uint32_t rank, size_t i) {
      return std::to_string(rank) + "." + std::to_string(i);
    };
    for (size_t i = 0; i < kStreams; ++i) enqueue(streams[i], name_of(self.rank, i));
    const auto report = [&] {
      std::vector<std::optional<comm::Board>> boards;
      const transport::Endpoint& endpoint = self.comm.group()->node().engine.endpoint();
      for (uint32_t r = 0; r < 2; ++r) boards.push_back(comm::read_board(endpoint.board(Rank{r})));
      return comm::wait_report(comm::find(std::move(boards), base::now_ns()), 0);
    };
    const std::string line =
        "(ranks 0, 1) has 16 streams with operations under way: streams beyond";
    // Liveness: boards come about once a second; ctest's time limit ends a failed test.
    while (report().find(line) == std::string::npos) std::this_thread::yield();
    ASSERT_TRUE(self.comm.barrier().wait().ok());
    for (size_t i = 0; i < kStreams; ++i) enqueue(self.stream, name_of(1 - self.rank, i));
    EXPECT_TRUE(self.gpu.finish().ok());
    // Liveness: as above.
    while (report().find("streams with operations") != std::string::npos) std::this_thread::yield();
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
