// Memory of a rank's programs and operations. It is taken from the device in large slabs, before it
// is needed where that can be: taking memory from a driver may wait for the whole device, and so
// for the very operations that it is wanted for. What is given back is used again and is never
// given back to the device. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "engine/cuda/device.h"
#include "tutti/result.h"

namespace tutti::engine::cuda {

class MemoryPool {
 public:
  enum class Kind : uint8_t { kDevice, kShared };
  struct Options {
    Kind kind = Kind::kDevice;
    uint64_t slab_bytes = 0;  // at least so much at a time
    uint64_t align = 256;     // of every piece; a power of two
  };
  // The device outlives it, and it outlives its pieces.
  MemoryPool(Device& device, const Options& options) : device_(device), options_(options) {}
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // Goes back to the pool with its last owner.
  class Piece {
   public:
    Piece() = default;
    Piece(MemoryPool& pool, std::byte* at, uint64_t bytes) : pool_(&pool), at_(at), bytes_(bytes) {}
    ~Piece() {
      if (pool_ != nullptr) pool_->give_back(at_, bytes_);
    }
    Piece(Piece&& other) noexcept { swap(other); }
    Piece& operator=(Piece&& other) noexcept {
      Piece taken(std::move(other));
      swap(taken);
      return *this;
    }

    [[nodiscard]] std::byte* at() const { return at_; }
    [[nodiscard]] uint64_t bytes() const { return bytes_; }
    // Makes it larger where it is. False: what lies behind it is used, or ends.
    [[nodiscard]] bool extend(uint64_t bytes);
    // It is never used again: somebody may still write there.
    void abandon() { pool_ = nullptr; }

   private:
    void swap(Piece& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(at_, other.at_);
      std::swap(bytes_, other.bytes_);
    }

    MemoryPool* pool_ = nullptr;
    std::byte* at_ = nullptr;
    uint64_t bytes_ = 0;
  };

  // So much is taken from the device at once, for later.
  [[nodiscard]] Status reserve(uint64_t bytes);
  // The first `clean_bytes` of it are zero.
  [[nodiscard]] Result<Piece> take(uint64_t bytes, uint64_t clean_bytes);

  // The same, if it need not be taken from the device.
  [[nodiscard]] std::optional<Piece> take_at_hand(uint64_t bytes);
  // What was taken from the device, each by its first byte.
  [[nodiscard]] std::vector<const std::byte*> slabs() const;

  // All that was ever taken from the device.
  [[nodiscard]] uint64_t bytes_of_device() const;
  [[nodiscard]] Device& device() { return device_; }

 private:
  // A stretch of a slab that is not used. Slabs are allocations of their own for other processes,
  // so stretches of two are never one.
  struct Stretch {
    uint64_t bytes = 0;
    uint64_t slab = 0;
    bool is_clean = false;  // never used
  };
  using Stretches = std::map<std::byte*, Stretch>;

  void give_back(std::byte* at, uint64_t bytes);
  [[nodiscard]] bool take_behind(std::byte* at, uint64_t bytes, uint64_t more);
  [[nodiscard]] Status add_slab(uint64_t bytes);
  [[nodiscard]] std::byte* take_free(uint64_t bytes, bool& is_clean);
  // With the lock.
  [[nodiscard]] Stretches::iterator smallest_of(uint64_t bytes);
  void join(Stretches::iterator first);

  Device& device_;
  Options options_;
  mutable std::mutex mutex_;  // guards what follows
  Stretches free_;            // by place
  std::map<std::byte*, Stretch> slabs_;
  uint64_t bytes_of_device_ = 0;
};

}  // namespace tutti::engine::cuda
