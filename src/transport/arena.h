// Memory of one rank that its peers can read: words and staging of operations. Only the owner
// allocates and frees. Blocks are powers of two, kept by size; what was never used costs address
// space and no pages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::transport {

class Arena {
 public:
  Arena(std::byte* base, size_t bytes) : base_(base), bytes_(bytes) {}

  // 64-byte aligned; null when the arena is spent.
  [[nodiscard]] std::byte* allocate(size_t bytes);
  // With the size that was asked for.
  void free(std::byte* block, size_t bytes);

  [[nodiscard]] size_t used() const { return used_; }
  [[nodiscard]] bool contains(const void* pointer, size_t bytes) const {
    const auto* first = static_cast<const std::byte*>(pointer);
    return first >= base_ && bytes <= bytes_ &&
           static_cast<size_t>(first - base_) <= bytes_ - bytes;
  }

 private:
  static constexpr size_t kSmallest = 64;

  std::byte* base_;
  size_t bytes_;
  size_t end_ = 0;                                 // of what was ever handed out
  size_t used_ = 0;                                // handed out now
  std::array<std::vector<std::byte*>, 64> spare_;  // by the logarithm of the size
};

}  // namespace tutti::transport
