// The nodes of the two-level algorithms: group_size consecutive ranks share a node, the last node
// may have fewer.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/ids.h"
#include "tutti/result.h"

namespace tutti::plan {

class Nodes {
 public:
  // As many accelerators as a server has today.
  static constexpr uint32_t kDefaultGroupSize = 8;

  // group_size 0 is kDefaultGroupSize, or all ranks if they are fewer. kInvalidArgument when it is
  // more than there are ranks.
  static Result<Nodes> create(uint32_t num_ranks, uint32_t group_size);

  [[nodiscard]] uint32_t group_size() const { return group_size_; }
  [[nodiscard]] uint32_t num_nodes() const { return (num_ranks_ - 1) / group_size_ + 1; }
  [[nodiscard]] uint32_t node_of(Rank rank) const { return rank.value / group_size_; }
  // The number of a rank inside its node.
  [[nodiscard]] uint32_t local_of(Rank rank) const { return rank.value % group_size_; }
  [[nodiscard]] uint32_t first(uint32_t node) const { return node * group_size_; }
  [[nodiscard]] uint32_t size(uint32_t node) const {
    return std::min(group_size_, num_ranks_ - first(node));
  }
  [[nodiscard]] Rank rank(uint32_t node, uint32_t local) const { return Rank{first(node) + local}; }

 private:
  Nodes(uint32_t num_ranks, uint32_t group_size) : num_ranks_(num_ranks), group_size_(group_size) {}

  uint32_t num_ranks_;
  uint32_t group_size_;
};

}  // namespace tutti::plan
