// One size of one collective, measured and checked by all ranks together.
#pragma once

#include <cstdint>

#include "tutti/communicator.h"
#include "tutti/result.h"

namespace tutti::tools::perf {

struct Subject {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  DataType type = DataType::kFloat32;
  Op op = Op::kSum;
  uint32_t root = 0;
  uint32_t warmups = 5;
  uint32_t iterations = 20;
  uint32_t checks = 1;
  bool shared_memory = false;  // buffers from tutti::allocate
};

enum class Placing { kOutOfPlace, kInPlace };

struct Measured {
  double us = 0;       // per call, of the slowest rank
  uint64_t wrong = 0;  // elements, of all ranks
};

// Of the calls that split a row over the ranks, a multiple of that; else elements of the row.
[[nodiscard]] uint64_t elems_for(const Subject& subject, uint32_t num_ranks, uint64_t bytes);
// nccl-tests' factor between algorithm and bus bandwidth.
[[nodiscard]] double bus_factor(CollectiveKind kind, uint32_t num_ranks);
// Whether nccl-tests counts elements of one rank's part.
[[nodiscard]] bool splits_row(CollectiveKind kind);

[[nodiscard]] Result<Measured> measure(Communicator& comm, const Subject& subject, uint64_t elems,
                                       Placing placing);

}  // namespace tutti::tools::perf
