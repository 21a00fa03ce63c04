#include "plan/algorithms/nodes.h"

#include <fmt/format.h>

namespace tutti::plan {

Result<Nodes> Nodes::create(uint32_t num_ranks, uint32_t group_size) {
  if (group_size == 0) return Nodes(num_ranks, std::min(kDefaultGroupSize, num_ranks));
  if (group_size > num_ranks) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("two_level: group_size {} is more than the {} ranks; take at most {}",
                             group_size, num_ranks, num_ranks)};
  }
  return Nodes(num_ranks, group_size);
}

}  // namespace tutti::plan
