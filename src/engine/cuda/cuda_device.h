// A GPU that daemons run on. Everything it does is on streams of its own that wait for no other;
// nothing here waits for the whole device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/cuda/device.h"

namespace tutti::engine::cuda {

class CudaDevice : public Device {
 public:
  static Result<std::unique_ptr<CudaDevice>> create(int ordinal);
  // All daemons have left.
  ~CudaDevice() override;

  Result<std::byte*> allocate(uint64_t bytes) override;
  Result<std::byte*> allocate_shared(uint64_t bytes) override;
  Status write(std::byte* to, const void* from, uint64_t bytes) override;
  Status launch(DaemonState* state, uint32_t rank, uint32_t num_blocks, uint32_t number) override;

  // Blocks for each of `num_ranks` ranks so that all of all ranks fit at once, the leader's aside.
  [[nodiscard]] uint32_t workers_for(uint32_t num_ranks) const;

 private:
  // Memory is taken in large pieces: taking it from the driver is slow, and may wait for kernels.
  struct Slab {
    std::byte* at;
    uint64_t used;
    uint64_t bytes;
  };
  struct Slabs {
    bool is_shared;
    std::vector<Slab> slabs;
  };

  explicit CudaDevice(int ordinal) : ordinal_(ordinal) {}
  Result<std::byte*> take(Slabs& from, uint64_t bytes);
  Result<std::byte*> make_slab(bool is_shared, uint64_t bytes);
  Result<cudaStream_t> stream_of(uint32_t rank);

  int ordinal_;
  cudaStream_t copies_ = nullptr;
  std::mutex mutex_;
  Slabs memory_{false, {}};
  Slabs shared_{true, {}};
  std::vector<cudaStream_t> streams_;  // by rank
};

}  // namespace tutti::engine::cuda
