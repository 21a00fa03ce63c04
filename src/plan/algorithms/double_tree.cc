// Number the nodes in order (left subtree, node, right subtree) and let every left subtree be full,
// that is of size 2^k - 1. Then leaves are exactly the places 0, 2, 4, ... and the nodes with
// children the places 1, 3, 5, ... . The second tree is the first one with places exchanged so that
// even and odd change sides:
//   n even: mirrored, place i held by node n - 1 - i;
//   n odd:  shifted by one, place i held by node i - 1, and place 0 by the last node, which is the
//           one node that is a leaf in both.
#include "plan/algorithms/double_tree.h"

#include <bit>

namespace tutti::plan {
namespace {

// Joins the places [begin, end) into a subtree and returns the place of its root. The recursion is
// as deep as the tree.
uint32_t join_places(std::vector<TreeNode>& places, uint32_t begin, uint32_t end) {
  const uint32_t root = begin + std::bit_floor(end - begin) - 1;
  const auto adopt = [&](uint32_t child) {
    places[child].parent = root;
    places[root].children.push_back(child);
  };
  if (begin < root) adopt(join_places(places, begin, root));
  if (root + 1 < end) adopt(join_places(places, root + 1, end));
  return root;
}

// The tree in which node_at[place] stands where `places` has the place.
BinaryTree renamed(const BinaryTree& places, std::span<const uint32_t> node_at) {
  BinaryTree tree;
  tree.root = node_at[places.root];
  tree.nodes.resize(places.nodes.size());
  for (uint32_t place = 0; place < places.nodes.size(); ++place) {
    TreeNode& node = tree.nodes[node_at[place]];
    const TreeNode& from = places.nodes[place];
    if (from.parent != kNoNode) node.parent = node_at[from.parent];
    for (const uint32_t child : from.children) node.children.push_back(node_at[child]);
  }
  return tree;
}

}  // namespace

DoubleTree double_tree(uint32_t num_nodes) {
  DoubleTree result;
  if (num_nodes == 0) return result;
  BinaryTree& first = result.trees[0];
  first.nodes.resize(num_nodes);
  first.root = join_places(first.nodes, 0, num_nodes);

  std::vector<uint32_t> node_at(num_nodes);
  for (uint32_t place = 0; place < num_nodes; ++place) {
    const bool even = num_nodes % 2 == 0;
    node_at[place] = even ? num_nodes - 1 - place : (place + num_nodes - 1) % num_nodes;
  }
  result.trees[1] = renamed(first, node_at);
  return result;
}

}  // namespace tutti::plan
