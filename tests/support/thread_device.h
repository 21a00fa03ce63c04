// A device whose blocks are threads of the host, so that all of a daemon but its kernels' last
// lines is tested without a GPU: queues, scheduling, leaving and coming back, any order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "engine/cuda/device.h"
#include "tests/support/thread_stream.h"

namespace tutti::test {

// How ranks of several devices see each other's memory. As processes do: at other addresses, which
// they must be told.
enum class Sharing { kNone, kAsProcesses };

class ThreadDevice : public engine::cuda::Device {
 public:
  explicit ThreadDevice(Sharing sharing = Sharing::kNone);
  ~ThreadDevice() override;

  Result<std::byte*> allocate(uint64_t bytes) override;
  // Of the kind that cannot be shared.
  std::byte* allocate_private(uint64_t bytes);
  // In one piece that has nothing else in it, as an allocation of the user's own. Processes share
  // it.
  std::byte* allocate_apart(uint64_t bytes);
  Result<std::byte*> allocate_shared(uint64_t bytes) override { return allocate(bytes); }
  Status write(std::byte* to, const void* from, uint64_t bytes) override;
  Status read(void* to, const std::byte* from, uint64_t bytes) override;
  Status clear(std::byte* at, uint64_t bytes) override;
  Status expect_daemon(uint32_t daemon) override;
  Status launch(engine::cuda::DaemonState* state, uint32_t daemon,
                const engine::cuda::Launch& launch) override;

  Status health(uint32_t daemon) override;

  Result<engine::cuda::Allocation> allocation_of(const void* at) override;
  Result<engine::cuda::SharedRegion> share(const engine::cuda::Allocation& allocation) override;
  Result<std::byte*> map(const engine::cuda::SharedRegion& region) override;

  // Streams are ThreadStreams; the handle kOwnStream is another one in each thread, and null is the
  // device's own, if it has one.
  Status settle(engine::cuda::StreamHandle stream) override;
  Status write_word(engine::cuda::StreamHandle stream, uint32_t* word, uint32_t value) override;
  Status arm(engine::cuda::StreamHandle stream, engine::cuda::StreamWords* words, uint32_t number,
             uint32_t gate) override;
  Status copy(engine::cuda::StreamHandle stream, void* to, const void* from,
              uint64_t bytes) override;
  Result<uint64_t> stream_id(engine::cuda::StreamHandle stream) override;
  Result<bool> is_recording(engine::cuda::StreamHandle stream) override;
  Status record(engine::cuda::StreamHandle stream, std::span<const WordStep> steps) override;
  Status keep_for(engine::cuda::StreamHandle stream, std::shared_ptr<void> what) override;

  // Null is a stream from now on. Before the first operation.
  void open_default_stream() { default_stream_ = std::make_unique<ThreadStream>(); }
  // From now on workers do not come: who would launch them waits for something else.
  void withhold_workers() { has_workers_ = false; }
  // So many operations of streams go well from now on, then one is refused.
  void refuse_after(int num_operations) { until_refusal_ = num_operations; }
  // Called in the middle of every enqueueing, by the thread that does it. Set before the first.
  void on_stream_check(std::function<void()> hook) { on_stream_check_ = std::move(hook); }
  // Called whenever the calling thread takes or reads memory of a device.
  static void on_memory_of_thread(std::function<void()> hook);

  // From now on at most so many blocks are there at once; others wait for room, as on a GPU.
  void limit_blocks(uint32_t num_places) { places_.limit(num_places); }
  // From now on nothing is run, though launches are taken; streams go on.
  void die() { is_dead_ = true; }
  // From now on memory of other processes cannot be mapped.
  void refuse_to_map() { can_map_ = false; }
  // Whoever maps memory of other processes waits, from now on until it is let go, as behind a lock
  // of a driver.
  void hold_maps() { holds_maps_ = true; }
  void let_maps_go();
  // That streams were given.
  [[nodiscard]] uint64_t num_copies() const { return num_copies_; }

  // What cudaDeviceSynchronize does: returns when everything launched before has ended.
  void synchronize();

  // Room for blocks.
  class Places {
   public:
    void limit(uint32_t num_places);
    void take();
    void give_back();

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    uint32_t num_places_ = UINT32_MAX;
    uint32_t num_taken_ = 0;
  };

 private:
  struct Row;  // the launches of one daemon's leader, or of its workers: one after the other
  struct Memory {
    std::unique_ptr<std::byte[]> heap;  // of memory that is not shared
    std::byte* base = nullptr;
    uint64_t bytes = 0;
    int file = -1;
  };

  Row& row_of(uint32_t index);
  [[nodiscard]] ThreadStream* stream_of(engine::cuda::StreamHandle stream) const;
  Status add(engine::cuda::StreamHandle stream, std::function<void()> task);
  std::byte* allocate_heap(uint64_t bytes);
  std::byte* allocate_file(uint64_t bytes);

  Sharing sharing_;
  Places places_;
  std::atomic<bool> has_workers_{true};
  std::atomic<bool> can_map_{true};
  std::atomic<bool> holds_maps_{false};
  std::atomic<uint64_t> num_copies_{0};
  std::atomic<bool> is_dead_{false};
  std::atomic<int> until_refusal_{-1};
  std::function<void()> on_stream_check_;
  std::mutex mutex_;
  std::vector<Memory> memory_;
  std::vector<std::pair<std::byte*, uint64_t>> mapped_;
  uint64_t slab_used_ = 0;  // of the last shared memory
  std::vector<std::unique_ptr<Row>> rows_;
  std::unique_ptr<ThreadStream> default_stream_;
};

}  // namespace tutti::test
