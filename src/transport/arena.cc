#include "transport/arena.h"

#include <bit>

namespace tutti::transport {

std::byte* Arena::allocate(size_t bytes) {
  if (bytes > bytes_) return nullptr;
  const size_t size = std::bit_ceil(bytes < kSmallest ? kSmallest : bytes);
  auto& spare = spare_[static_cast<size_t>(std::countr_zero(size))];
  std::byte* block = nullptr;
  if (!spare.empty()) {
    block = spare.back();
    spare.pop_back();
  } else {
    if (size > bytes_ - end_) return nullptr;
    block = base_ + end_;
    end_ += size;
  }
  used_ += size;
  return block;
}

void Arena::free(std::byte* block, size_t bytes) {
  const size_t size = std::bit_ceil(bytes < kSmallest ? kSmallest : bytes);
  spare_[static_cast<size_t>(std::countr_zero(size))].push_back(block);
  used_ -= size;
}

}  // namespace tutti::transport
