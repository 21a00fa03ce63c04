// Two binary trees over the same nodes 0 .. n-1, such that a node with children in one tree has
// none in the other. Data that is cut in half, one half a tree, then costs each node at most one
// receive and two forwards of a half: as much out as in, whatever the tree's depth.
//
// Depth is floor(log2 n). Knows nothing of ranks: the caller maps nodes to them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tutti::plan {

inline constexpr uint32_t kNoNode = UINT32_MAX;

struct TreeNode {
  uint32_t parent = kNoNode;
  std::vector<uint32_t> children;  // at most two, the larger subtree first
};

struct BinaryTree {
  uint32_t root = kNoNode;
  std::vector<TreeNode> nodes;
};

struct DoubleTree {
  BinaryTree trees[2];
};

// Any number of nodes; both trees are empty when there are none.
[[nodiscard]] DoubleTree double_tree(uint32_t num_nodes);

}  // namespace tutti::plan
