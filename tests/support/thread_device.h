// A device whose blocks are threads of the host, so that all of a daemon but its kernels' last
// lines is tested without a GPU: queues, scheduling, leaving and coming back, any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/cuda/device.h"

namespace tutti::test {

class ThreadDevice : public engine::cuda::Device {
 public:
  ThreadDevice();
  ~ThreadDevice() override;

  Result<std::byte*> allocate(uint64_t bytes) override;
  Result<std::byte*> allocate_shared(uint64_t bytes) override { return allocate(bytes); }
  Status write(std::byte* to, const void* from, uint64_t bytes) override;
  Status launch(engine::cuda::DaemonState* state, uint32_t rank, uint32_t num_blocks,
                uint32_t number) override;

  // What cudaDeviceSynchronize does: returns when everything launched before has ended.
  void synchronize();

 private:
  struct Row;  // the launches of one rank: one after the other

  Row& row_of(uint32_t rank);

  std::mutex mutex_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::vector<std::unique_ptr<Row>> rows_;
};

}  // namespace tutti::test
