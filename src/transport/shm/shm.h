// Ranks that are processes of one host. Each makes its segment, bell and heap in memory without a
// name and hands the descriptors to the others through rank 0, which listens on a socket in the
// job's directory until all have come. Only processes of the same user, with the same job id, are
// let in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "transport/endpoint.h"
#include "transport/heap_memory.h"
#include "transport/shm/remark.h"
#include "transport/shm/shared_memory.h"
#include "tutti/result.h"

namespace tutti::transport {

struct ShmJob {
  Rank rank;
  uint32_t num_ranks = 1;
  std::string directory;                   // private to the user; exists
  std::string id;                          // differs from run to run
  size_t segment_bytes = size_t{1} << 32;  // of address space; pages come when used
  uint64_t timeout_ns = 30'000'000'000;
  Remark remark = {};  // about this rank, for all of them
};

class Shm {
 public:
  // Returns when every rank of the job has come; kDeadline names those that have not.
  static Result<std::shared_ptr<Shm>> connect(const ShmJob& job);

  // Once.
  [[nodiscard]] Endpoint endpoint() const { return {rank_, ranks_}; }
  [[nodiscard]] const std::vector<RankMemory>& ranks() const { return ranks_; }
  // Of all ranks, in their order.
  [[nodiscard]] const std::vector<Remark>& remarks() const { return remarks_; }

 private:
  explicit Shm(Rank rank) : rank_(rank) {}
  // In order of ranks.
  void add(SharedMemory segment, SharedMemory bell, std::unique_ptr<HeapMemory> heap);

  Rank rank_;
  std::vector<SharedMemory> memories_;
  std::vector<std::unique_ptr<HeapMemory>> heaps_;
  std::vector<RankMemory> ranks_;
  std::vector<Remark> remarks_;
};

}  // namespace tutti::transport
