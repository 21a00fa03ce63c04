// What chaos does with a GPU, over the device of host_device.h. Streams of one Process wait for
// each other as those of a process do; ranks that are threads may have one each, and then wait as
// processes would.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "tests/support/host_device/host_device.h"
#include "tools/chaos/gpu.h"

namespace tutti::test {

class HostGpu : public tools::chaos::Gpu {
 public:
  // All streams that a wait for the device waits for. Outlives who uses it.
  class Process {
   public:
    ThreadStream* make_stream() {
      const std::lock_guard lock(mutex_);
      return streams_.emplace_back(std::make_unique<ThreadStream>()).get();
    }
    void synchronize() {
      std::vector<ThreadStream*> streams;
      {
        const std::lock_guard lock(mutex_);
        for (const auto& stream : streams_) streams.push_back(stream.get());
      }
      for (ThreadStream* const stream : streams) stream->synchronize();
    }

   private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<ThreadStream>> streams_;
  };

  explicit HostGpu(Process& process) : process_(process) {}

  Result<DeviceCommunicator> communicator(const Communicator& comm) override {
    return DeviceCommunicator::create(comm, 0);
  }
  Result<DeviceStream> make_stream() override { return process_.make_stream(); }
  Result<std::byte*> allocate(uint64_t bytes) override {
    return memory_.emplace_back(std::make_unique<std::byte[]>(bytes)).get();
  }
  Status write(std::byte* to, std::span<const std::byte> from) override {
    std::copy(from.begin(), from.end(), to);
    return {};
  }
  Status read(std::span<std::byte> to, const std::byte* from) override {
    std::copy_n(from, to.size(), to.begin());
    return {};
  }
  Status delay(DeviceStream stream, std::chrono::microseconds time) override {
    stream->add([until = base::now_ns() + static_cast<uint64_t>(time.count()) * 1000] {
      while (base::now_ns() < until) std::this_thread::yield();
    });
    return {};
  }
  Status wait_for(DeviceStream stream) override {
    stream->synchronize();
    return {};
  }
  Status wait_for_device(tools::chaos::DeviceWait /*how*/) override {
    process_.synchronize();
    return {};
  }

 private:
  Process& process_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
};

}  // namespace tutti::test
