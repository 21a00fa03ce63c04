#include "transport/arena.h"

#include <algorithm>
#include <bit>

namespace tutti::transport {

Arena::Level Arena::level_of(size_t bytes) {
  return std::max(kSmallest, static_cast<Level>(std::bit_width(std::max<size_t>(bytes, 1) - 1)));
}

std::byte* Arena::allocate(size_t bytes) {
  if (bytes > bytes_) return nullptr;
  const Level level = level_of(bytes);
  // Large blocks are not cut up for small ones while there is memory that was never used, so that
  // they are there when they are asked for again.
  size_t offset = take(level, level + kLevelsToCut);
  if (offset == kNone && end_ <= bytes_ / 2) offset = take_fresh(level);
  if (offset == kNone) {
    join();
    offset = take(level, kNumLevels - 1);
  }
  if (offset == kNone) offset = take_fresh(level);
  if (offset == kNone) return nullptr;
  used_ += size_t{1} << level;
  return base_ + offset;
}

void Arena::free(std::byte* block, size_t bytes) {
  const Level level = level_of(bytes);
  free_[level].push_back(static_cast<size_t>(block - base_));
  used_ -= size_t{1} << level;
}

size_t Arena::take(Level level, Level highest) {
  Level at = level;
  highest = std::min(highest, kNumLevels - 1);
  while (at <= highest && free_[at].empty()) ++at;
  if (at > highest) return kNone;
  const size_t offset = free_[at].back();
  free_[at].pop_back();
  // The upper halves of a larger block stay free.
  while (at > level) {
    --at;
    free_[at].push_back(offset + (size_t{1} << at));
  }
  return offset;
}

size_t Arena::take_fresh(Level level) {
  const size_t size = size_t{1} << level;
  const size_t offset = (end_ + size - 1) & ~(size - 1);
  if (size > bytes_ || offset > bytes_ - size) return kNone;
  // The gap before it, cut into blocks that lie at multiples of their size.
  while (end_ < offset) {
    const auto gap = static_cast<Level>(std::countr_zero(end_));
    free_[gap].push_back(end_);
    end_ += size_t{1} << gap;
  }
  end_ += size;
  return offset;
}

void Arena::join() {
  for (Level level = kSmallest; level + 1 < kNumLevels; ++level) {
    auto& blocks = free_[level];
    std::sort(blocks.begin(), blocks.end());
    std::vector<size_t> alone;
    for (size_t i = 0; i < blocks.size(); ++i) {
      const bool is_lower = (blocks[i] >> level) % 2 == 0;
      const size_t buddy = blocks[i] + (size_t{1} << level);
      if (is_lower && i + 1 < blocks.size() && blocks[i + 1] == buddy) {
        free_[level + 1].push_back(blocks[i++]);
      } else {
        alone.push_back(blocks[i]);
      }
    }
    blocks = std::move(alone);
  }
}

}  // namespace tutti::transport
