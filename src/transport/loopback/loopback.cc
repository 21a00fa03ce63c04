#include "transport/loopback/loopback.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace tutti::transport {

Result<std::shared_ptr<Loopback>> Loopback::create(uint32_t num_ranks, size_t segment_bytes) {
  std::shared_ptr<Loopback> loopback(new Loopback);
  loopback->bells_ = std::vector<Bell>(num_ranks);
  const size_t bytes = SegmentLayout{num_ranks}.arena() + segment_bytes;
  for (uint32_t rank = 0; rank < num_ranks; ++rank) {
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      return Error{ErrorCode::kOutOfMemory,
                   fmt::format("cannot reserve {} bytes of address space for rank {}: {}", bytes,
                               rank, std::strerror(errno))};
    }
    loopback->heaps_.push_back(HeapMemory::ordinary(heap_bytes_for(num_ranks)));
    loopback->ranks_.push_back({static_cast<std::byte*>(memory), bytes, &loopback->bells_[rank], 0,
                                loopback->heaps_.back().get()});
  }
  return loopback;
}

Loopback::~Loopback() {
  for (const RankMemory& rank : ranks_) munmap(rank.segment, rank.segment_bytes);
}

}  // namespace tutti::transport
