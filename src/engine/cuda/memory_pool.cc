#include "engine/cuda/memory_pool.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/try.h"

namespace tutti::engine::cuda {
namespace {

uint64_t in_whole(uint64_t bytes, uint64_t align) {
  return std::max<uint64_t>((bytes + align - 1) / align * align, align);
}

}  // namespace

Status MemoryPool::reserve(uint64_t bytes) { return add_slab(in_whole(bytes, options_.align)); }

// Without the lock: others go on with what is there.
Status MemoryPool::add_slab(uint64_t bytes) {
  TUTTI_ASSIGN(std::byte* const at, options_.kind == Kind::kShared ? device_.allocate_shared(bytes)
                                                                   : device_.allocate(bytes));
  const std::lock_guard lock(mutex_);
  const Stretch slab{bytes, slabs_.size(), true};
  slabs_.emplace(at, slab);
  free_.emplace(at, slab);
  bytes_of_device_ += bytes;
  return {};
}

Result<MemoryPool::Piece> MemoryPool::take(uint64_t bytes, uint64_t clean_bytes) {
  bytes = in_whole(bytes, options_.align);
  bool is_clean = false;
  std::byte* at = nullptr;
  // Liveness: each time round a slab was added that is large enough; only others that take as much
  // meanwhile make it another round, and memory ends.
  while (at == nullptr) {
    at = take_free(bytes, is_clean);
    if (at == nullptr) TUTTI_TRY(add_slab(std::max(bytes, options_.slab_bytes)));
  }
  Piece piece(*this, at, bytes);
  if (is_clean || clean_bytes == 0) return piece;
  if (options_.kind == Kind::kShared) {
    std::memset(at, 0, clean_bytes);
  } else {
    TUTTI_TRY(device_.clear(at, clean_bytes));
  }
  return piece;
}

std::optional<MemoryPool::Piece> MemoryPool::take_at_hand(uint64_t bytes) {
  bytes = in_whole(bytes, options_.align);
  bool is_clean = false;
  std::byte* const at = take_free(bytes, is_clean);
  if (at == nullptr) return std::nullopt;
  return std::optional<Piece>(std::in_place, *this, at, bytes);
}

bool MemoryPool::Piece::extend(uint64_t bytes) {
  if (pool_ == nullptr) return false;
  bytes = in_whole(bytes, pool_->options_.align);
  if (bytes > bytes_ && !pool_->take_behind(at_, bytes_, bytes - bytes_)) return false;
  bytes_ = std::max(bytes_, bytes);
  return true;
}

bool MemoryPool::take_behind(std::byte* at, uint64_t bytes, uint64_t more) {
  const std::lock_guard lock(mutex_);
  const auto found = free_.find(at + bytes);
  const uint64_t slab = std::prev(slabs_.upper_bound(at))->second.slab;
  if (found == free_.end() || found->second.slab != slab || found->second.bytes < more) {
    return false;
  }
  const Stretch stretch = found->second;
  free_.erase(found);
  if (stretch.bytes > more) {
    free_.emplace(at + bytes + more, Stretch{stretch.bytes - more, slab, stretch.is_clean});
  }
  return true;
}

std::vector<const std::byte*> MemoryPool::slabs() const {
  const std::lock_guard lock(mutex_);
  std::vector<const std::byte*> out;
  for (const auto& [at, slab] : slabs_) out.push_back(at);
  return out;
}

// Null: there is none that is large enough.
std::byte* MemoryPool::take_free(uint64_t bytes, bool& is_clean) {
  const std::lock_guard lock(mutex_);
  const auto found = smallest_of(bytes);
  if (found == free_.end()) return nullptr;
  std::byte* const at = found->first;
  const Stretch stretch = found->second;
  is_clean = stretch.is_clean;
  free_.erase(found);
  if (stretch.bytes > bytes) {
    free_.emplace(at + bytes, Stretch{stretch.bytes - bytes, stretch.slab, is_clean});
  }
  return at;
}

MemoryPool::Stretches::iterator MemoryPool::smallest_of(uint64_t bytes) {
  auto best = free_.end();
  for (auto at = free_.begin(); at != free_.end(); ++at) {
    if (at->second.bytes < bytes) continue;
    if (best == free_.end() || at->second.bytes < best->second.bytes) best = at;
    if (best->second.bytes == bytes) break;
  }
  return best;
}

void MemoryPool::give_back(std::byte* at, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const uint64_t slab = std::prev(slabs_.upper_bound(at))->second.slab;
  const auto added = free_.emplace(at, Stretch{bytes, slab, false}).first;
  join(added);
  if (added != free_.begin()) join(std::prev(added));
}

// With what lies behind it, if that is free.
void MemoryPool::join(Stretches::iterator first) {
  const auto next = std::next(first);
  if (next == free_.end() || next->second.slab != first->second.slab) return;
  if (first->first + first->second.bytes != next->first) return;
  first->second.bytes += next->second.bytes;
  first->second.is_clean = first->second.is_clean && next->second.is_clean;
  free_.erase(next);
}

uint64_t MemoryPool::bytes_of_device() const {
  const std::lock_guard lock(mutex_);
  return bytes_of_device_;
}

}  // namespace tutti::engine::cuda
