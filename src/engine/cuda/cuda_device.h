// A GPU that daemons run on. Everything it does is on streams of its own that wait for no other;
// nothing here waits for the whole device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
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
  Status read(void* to, const std::byte* from, uint64_t bytes) override;
  Status clear(std::byte* at, uint64_t bytes) override;
  Status expect_daemon(uint32_t daemon) override;
  Status launch(DaemonState* state, uint32_t daemon, const Launch& launch) override;
  Status health(uint32_t daemon) override;

  Result<Allocation> allocation_of(const void* at) override;
  Result<SharedRegion> share(const Allocation& allocation) override;
  Result<std::byte*> map(const SharedRegion& region) override;

  Status settle(StreamHandle stream) override;
  Status write_word(StreamHandle stream, uint32_t* word, uint32_t value) override;
  Status arm(StreamHandle stream, StreamWords* words, uint32_t number, uint32_t gate) override;
  Status copy(StreamHandle stream, void* to, const void* from, uint64_t bytes) override;
  Result<uint64_t> stream_id(StreamHandle stream) override;

  Result<bool> is_recording(StreamHandle stream) override;
  Status record(StreamHandle stream, std::span<const WordStep> steps) override;
  Status keep_for(StreamHandle stream, std::shared_ptr<void> what) override;

  // Blocks for each of `num_ranks` ranks so that all of all ranks fit at once, the leader's aside.
  [[nodiscard]] uint32_t workers_for(uint32_t num_ranks) const;
  // The same for all processes that use this GPU.
  [[nodiscard]] Result<uint64_t> identity() const;

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
  // Null: it was not made. Launches wait for nothing here.
  [[nodiscard]] cudaStream_t stream_of(uint32_t row);

  int ordinal_;
  cudaStream_t copies_ = nullptr;
  std::mutex copying_;  // in the stream of copies, until they are made: nobody else waits for that
  std::mutex mutex_;
  Slabs memory_{false, {}};
  Slabs shared_{true, {}};
  std::mutex streams_mutex_;  // held for a look: who holds the other may wait for the driver
  std::vector<cudaStream_t> streams_;  // of each daemon's leader and of its workers
  uint32_t num_threads_ = 0;           // of a daemon's block
  uint32_t* settled_ = nullptr;        // a word that streams write when they are settled
};

}  // namespace tutti::engine::cuda
