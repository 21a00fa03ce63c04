#include "transport/ranges.h"

#include <iterator>

namespace tutti::transport {

std::optional<size_t> Ranges::take(size_t bytes, size_t alignment) {
  for (auto gap = free_.begin(); gap != free_.end(); ++gap) {
    const auto [begin, size] = *gap;
    const size_t skipped = (alignment - begin % alignment) % alignment;
    if (skipped > size || bytes > size - skipped) continue;
    const size_t offset = begin + skipped;
    const size_t rest = size - skipped - bytes;
    free_.erase(gap);
    if (skipped != 0) free_[begin] = skipped;
    if (rest != 0) free_[offset + bytes] = rest;
    return offset;
  }
  return std::nullopt;
}

void Ranges::give(size_t offset, size_t bytes) {
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && offset + bytes == next->first) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_[offset] = bytes;
}

}  // namespace tutti::transport
