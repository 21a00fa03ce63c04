// Ranks with device communicators, on devices that are threads of the host: in one process, in
// processes of their own, or two in each.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "comm/cuda/device_group.h"
#include "comm/cuda/device_host.h"
#include "tests/support/thread_device.h"
#include "tutti/communicator.h"
#include "tutti/device.h"

namespace tutti::test {

enum class Placing { kOneProcess, kProcesses, kPairs };
inline constexpr Placing kPlacings[] = {Placing::kOneProcess, Placing::kProcesses, Placing::kPairs};

// Of each rank, in bytes. Without a reserve every piece is an allocation of its own, so that
// sanitizers see who writes beside it.
struct DeviceBounds {
  uint64_t reserved = 0;
  uint64_t staging = 0;
  uint64_t programs = comm::LoadedPrograms::kMostBytes;
  engine::cuda::Presence presence = {.linger_ns = 20'000, .stay_ns = 200'000};
};

class DeviceJob {
 public:
  explicit DeviceJob(uint32_t num_ranks, Placing placing = Placing::kOneProcess,
                     const DeviceBounds& bounds = {})
      : comms_(Communicator::threads(num_ranks).value()) {
    const auto per_process = static_cast<uint32_t>(placing == Placing::kOneProcess ? num_ranks
                                                   : placing == Placing::kPairs    ? 2
                                                                                   : 1);
    for (uint32_t r = 0; r < num_ranks; ++r) process_of_.push_back(r / per_process);
    for (uint32_t p = 0; p <= process_of_.back(); ++p) {
      auto device = std::make_unique<ThreadDevice>(
          placing == Placing::kOneProcess ? Sharing::kNone : Sharing::kAsProcesses);
      devices_.push_back(device.get());
      comm::DeviceHost::Facts facts;
      facts.identity = 1;
      facts.process = p + 1;
      facts.workers_for = [](uint32_t /*num_ranks*/) { return 2U; };
      facts.presence = bounds.presence;
      facts.reserved_bytes = bounds.reserved;
      facts.staging_bytes = bounds.staging;
      facts.most_program_bytes = bounds.programs;
      hosts_.push_back(std::make_unique<comm::DeviceHost>(std::move(device), std::move(facts)));
    }
  }

  [[nodiscard]] uint32_t num_ranks() const { return static_cast<uint32_t>(comms_.size()); }
  [[nodiscard]] ThreadDevice& device(uint32_t rank) { return *devices_[process_of_[rank]]; }
  [[nodiscard]] comm::DeviceHost& host(uint32_t rank) { return *hosts_[process_of_[rank]]; }

  // What a rank of a job has.
  struct Self {
    uint32_t rank;
    Communicator comm;
    DeviceCommunicator gpu;
    ThreadDevice& device;
    ThreadStream& stream;

    [[nodiscard]] DeviceStream handle() const { return &stream; }
    // Numbers in memory of the device.
    [[nodiscard]] std::span<int64_t> numbers(uint64_t elems, int64_t first = 0) const {
      auto* const at =
          reinterpret_cast<int64_t*>(device.allocate(elems * sizeof(int64_t) + 1).value());
      for (uint64_t i = 0; i < elems; ++i) at[i] = first + static_cast<int64_t>(i);
      return {at, elems};
    }
    [[nodiscard]] std::span<int64_t> room(uint64_t elems) const {
      const std::span<int64_t> out = numbers(elems);
      for (int64_t& value : out) value = -1;
      return out;
    }
  };
  // A thread for each rank. The stream is done when `body` has returned.
  void run(const std::function<void(Self& self)>& body) {
    std::vector<std::thread> threads;
    for (uint32_t r = 0; r < num_ranks(); ++r) {
      threads.emplace_back([this, r, &body] {
        ThreadStream stream;
        auto group = comm::DeviceGroup::create(comms_[r], host(r)).value();
        Self self{r, comms_[r], DeviceCommunicator(std::move(group)), device(r), stream};
        body(self);
        stream.synchronize();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  std::vector<Communicator> comms_;
  std::vector<uint32_t> process_of_;
  std::vector<ThreadDevice*> devices_;
  std::vector<std::unique_ptr<comm::DeviceHost>> hosts_;
};

inline std::span<const int64_t> read_only(std::span<int64_t> data) { return data; }

// Every rank's numbers begin with its own.
inline int64_t first_of(uint32_t rank) { return 1000 * (rank + 1); }
inline int64_t sum_of(uint32_t num_ranks, uint64_t i) {
  int64_t sum = 0;
  for (uint32_t r = 0; r < num_ranks; ++r) sum += first_of(r) + static_cast<int64_t>(i);
  return sum;
}

inline void check_all_reduce_of(DeviceCommunicator& gpu, DeviceJob::Self& self, uint64_t elems,
                                const CallOptions& options = {}) {
  const uint32_t n = gpu.num_ranks();
  const auto data = self.numbers(elems, first_of(self.rank));
  const auto out = self.room(elems);
  ASSERT_TRUE(gpu.all_reduce(read_only(data), out, self.handle(), options).ok());
  ASSERT_TRUE(gpu.all_reduce(data, self.handle(), options).ok());
  self.stream.synchronize();
  for (uint64_t i = 0; i < elems; ++i) {
    ASSERT_EQ(out[i], sum_of(n, i)) << elems;
    ASSERT_EQ(data[i], sum_of(n, i)) << elems;
  }
}

inline void check_all_reduce(DeviceJob::Self& self, uint64_t elems,
                             const CallOptions& options = {}) {
  check_all_reduce_of(self.gpu, self, elems, options);
}

inline Call message(std::span<int64_t> data, uint32_t peer, bool receives) {
  Call call{.kind = CollectiveKind::kSendRecv, .type = DataType::kInt64, .peer = peer};
  call.receives = receives;
  if (receives) {
    call.output = data.data();
    call.output_elems = data.size();
  } else {
    call.input = data.data();
    call.input_elems = data.size();
  }
  return call;
}

}  // namespace tutti::test
