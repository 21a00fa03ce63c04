// Ranks that are threads of one process: their memory is everyone's already, so an endpoint reads
// from wherever a peer's data is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "transport/endpoint.h"
#include "transport/heap_memory.h"
#include "tutti/result.h"

namespace tutti::transport {

// The memory of all ranks; lives as long as any endpoint on it is used.
class Loopback {
 public:
  // Reserves address space of `segment_bytes` a rank; pages come when used.
  static Result<std::shared_ptr<Loopback>> create(uint32_t num_ranks,
                                                  size_t segment_bytes = size_t{1} << 32);
  ~Loopback();
  Loopback(const Loopback&) = delete;
  Loopback& operator=(const Loopback&) = delete;

  // One a rank, and once.
  [[nodiscard]] Endpoint endpoint(Rank rank) const { return {rank, ranks_}; }
  [[nodiscard]] const std::vector<RankMemory>& ranks() const { return ranks_; }

 private:
  Loopback() = default;

  std::vector<RankMemory> ranks_;
  std::vector<Bell> bells_;
  std::vector<std::unique_ptr<HeapMemory>> heaps_;
};

}  // namespace tutti::transport
