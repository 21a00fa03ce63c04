// Memory of one rank that its peers can read: words, scratch and mirrors of operations. Only the
// owner allocates and frees. Blocks are powers of two, each at a multiple of its size, and kept by
// size; free neighbours are joined when there is no other way. What was never used costs address
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
  // The most that was ever handed out at once, gaps between included: what can be resident.
  [[nodiscard]] size_t touched() const { return end_; }
  [[nodiscard]] bool contains(const void* pointer, size_t bytes) const {
    const auto* first = static_cast<const std::byte*>(pointer);
    return first >= base_ && bytes <= bytes_ &&
           static_cast<size_t>(first - base_) <= bytes_ - bytes;
  }

 private:
  using Level = size_t;  // the logarithm of a block's size

  [[nodiscard]] static Level level_of(size_t bytes);
  // The offset of a block of the level, cut from a free one of at most the highest; or kNone.
  size_t take(Level level, Level highest);
  size_t take_fresh(Level level);
  void join();

  static constexpr size_t kNone = SIZE_MAX;
  static constexpr Level kSmallest = 6;
  static constexpr Level kNumLevels = 64;
  static constexpr Level kLevelsToCut = 3;

  std::byte* base_;
  size_t bytes_;
  size_t end_ = 0;                                    // of what was ever handed out
  size_t used_ = 0;                                   // handed out now
  std::array<std::vector<size_t>, kNumLevels> free_;  // offsets, by level
};

}  // namespace tutti::transport
