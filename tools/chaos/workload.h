// The operations of a round and the groups they are on, and in which order each rank issues them.
// A function of the settings alone: all ranks make the same, without a word between them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/chaos/settings.h"
#include "tutti/collective.h"
#include "tutti/data_type.h"

namespace tutti::tools::chaos {

struct Task {
  uint32_t index = 0;
  uint32_t group = 0;
  CollectiveKind kind = CollectiveKind::kBarrier;
  DataType type = DataType::kInt32;
  Op op = Op::kSum;
  uint32_t root = 0;             // place in the group
  std::vector<uint64_t> blocks;  // elements of the row that belong to each member
  bool is_uneven = false;        // the call gives the blocks as counts
  bool in_place = false;

  [[nodiscard]] uint64_t row() const;
  [[nodiscard]] std::string name() const;
  // "all_reduce c12 of 4096 float32 on group 2"
  [[nodiscard]] std::string describe() const;
};

struct Workload {
  std::vector<std::vector<uint32_t>> groups;  // ranks, in the order of the group
  std::vector<Task> tasks;
};

[[nodiscard]] Workload make_workload(const Settings& settings);

enum class Order : uint8_t { kAny, kOne };

// Where in the run a batch is: rounds of both orders share their number.
struct Batch {
  uint64_t round = 0;
  uint32_t first = 0;  // task
  uint32_t last = 0;   // one past it
  Order order = Order::kAny;
};

// The batch's tasks as the rank issues them; tasks of groups without the rank are left out.
[[nodiscard]] std::vector<uint32_t> issue_order(const Settings& settings, const Workload& workload,
                                                uint32_t rank, const Batch& batch);

}  // namespace tutti::tools::chaos
