// Address space of one rank for large blocks, buffers of its callers first of all, which all ranks
// of the host read where they lie: a file in memory between processes, ordinary memory between
// threads. Mapped when first used; pages come when touched and go when freed. Only the owner writes
// and allocates: others get a descriptor for reading. It cannot shrink under a reader.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "transport/ranges.h"
#include "transport/shm/shared_memory.h"
#include "tutti/result.h"

namespace tutti::transport {

// What the system makes its large pages of; the address space begins at a multiple of it, and so do
// blocks of at least this size.
inline constexpr size_t kHugePageBytes = size_t{2} << 20;

// Of each rank: twice what the machine has, so that gaps do not matter, unless that is more than so
// many ranks can map at once.
[[nodiscard]] size_t heap_bytes_for(uint32_t num_ranks);

class HeapMemory {
 public:
  // One's own, among threads of one process.
  static std::unique_ptr<HeapMemory> ordinary(size_t bytes);
  // One's own, among processes.
  static Result<std::unique_ptr<HeapMemory>> create(size_t bytes);
  // What another process made, as this process received it. kMalformed when it could shrink.
  static Result<std::unique_ptr<HeapMemory>> open(Descriptor file);

  ~HeapMemory();
  HeapMemory(const HeapMemory&) = delete;
  HeapMemory& operator=(const HeapMemory&) = delete;

  // For another process: one cannot write through it.
  [[nodiscard]] Result<Descriptor> reader() const;

  [[nodiscard]] size_t bytes() const { return bytes_; }
  // Where it is mapped, now at the latest. Any thread. kOutOfMemory.
  [[nodiscard]] Result<std::byte*> map();
  // Whether these bytes lie in it, as it is mapped. Any thread.
  [[nodiscard]] bool contains(const void* memory, size_t bytes) const {
    return has(offset_of(memory), bytes);
  }
  // Whether there are so many bytes from there on.
  [[nodiscard]] bool has(uint64_t offset, uint64_t bytes) const {
    return bytes <= bytes_ && offset <= bytes_ - bytes;
  }
  // Of what it contains; else more than it has bytes.
  [[nodiscard]] uint64_t offset_of(const void* memory) const {
    const std::byte* const base = base_.load(std::memory_order_acquire);
    if (base == nullptr) return UINT64_MAX;
    return reinterpret_cast<uintptr_t>(memory) - reinterpret_cast<uintptr_t>(base);
  }
  // Reads without mapping, as pread does; of a file.
  [[nodiscard]] ssize_t read(std::byte* to, uint64_t offset, size_t bytes) const;

  // Zeros, at the beginning of a page. Any thread. kOutOfMemory.
  [[nodiscard]] Result<std::byte*> allocate(uint64_t bytes);
  // With the size that was asked for. The system gets the pages back. Any thread.
  void free(std::byte* block, uint64_t bytes);
  // Handed out now, in whole pages. Any thread.
  [[nodiscard]] size_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  HeapMemory(Descriptor file, size_t bytes, int protection)
      : file_(std::move(file)), bytes_(bytes), protection_(protection), ranges_(bytes) {}

  [[nodiscard]] bool is_file() const { return file_.get() >= 0; }
  void give_back(std::byte* memory, size_t bytes) const;

  Descriptor file_;  // none: ordinary memory
  size_t bytes_;
  int protection_;
  std::mutex mutex_;                       // of mapping, and of what follows
  std::atomic<std::byte*> base_{nullptr};  // written once
  Ranges ranges_;
  std::atomic<size_t> used_{0};
};

}  // namespace tutti::transport
