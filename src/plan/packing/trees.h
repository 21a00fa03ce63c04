// Spanning trees over ranks, each with the share of the data that it carries.
#pragma once

#include <cstdint>
#include <vector>

namespace tutti::plan::packing {

inline constexpr uint32_t kNoParent = UINT32_MAX;

struct Tree {
  uint32_t root = 0;
  std::vector<uint32_t> parent;  // by rank; kNoParent at the root
  int64_t weight = 1;            // shares
  // Where sums go, if by another tree than the one that data comes down; same root. Empty: the
  // same.
  std::vector<uint32_t> up = {};

  [[nodiscard]] uint32_t up_parent(uint32_t rank) const {
    return up.empty() ? parent[rank] : up[rank];
  }
};

// Ranks in the order of a ring; the last sends to the first.
using Ring = std::vector<uint32_t>;

// Of each rank: the number of hops from the root.
[[nodiscard]] std::vector<uint32_t> depths(const Tree& tree);
// Of the deepest rank, up or down.
[[nodiscard]] uint32_t depth(const Tree& tree);
[[nodiscard]] uint32_t max_depth(const std::vector<Tree>& trees);

// Equal trees become one with the sum of their weights.
[[nodiscard]] std::vector<Tree> merged(std::vector<Tree> trees);
// A tree of weight w becomes w trees of weight 1.
[[nodiscard]] std::vector<Tree> unmerged(const std::vector<Tree>& trees);

// The same edges, hung from the rank in the middle, so that it is as shallow as it can be.
[[nodiscard]] Tree centred(const Tree& tree);

}  // namespace tutti::plan::packing
