#include "plan/algorithms/double_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

namespace tutti::plan {
namespace {

using testing::ElementsAre;

uint32_t depth_of(const BinaryTree& tree, uint32_t node) {
  uint32_t depth = 0;
  for (; tree.nodes[node].parent != kNoNode; node = tree.nodes[node].parent) {
    if (++depth > tree.nodes.size()) return UINT32_MAX;  // a cycle
  }
  return node == tree.root ? depth : UINT32_MAX;
}

TEST(DoubleTree, OfNoNodesIsEmpty) {
  const DoubleTree both = double_tree(0);
  EXPECT_EQ(both.trees[0].root, kNoNode);
  EXPECT_TRUE(both.trees[1].nodes.empty());
}

TEST(DoubleTree, OfOneNodeIsTheNodeTwice) {
  const DoubleTree both = double_tree(1);
  for (const BinaryTree& tree : both.trees) {
    EXPECT_EQ(tree.root, 0u);
    EXPECT_TRUE(tree.nodes[0].children.empty());
  }
}

TEST(DoubleTree, OfSixNodesIsInOrderAndMirrored) {
  const DoubleTree both = double_tree(6);
  EXPECT_EQ(both.trees[0].root, 3u);
  EXPECT_THAT(both.trees[0].nodes[3].children, ElementsAre(1, 5));
  EXPECT_THAT(both.trees[0].nodes[1].children, ElementsAre(0, 2));
  EXPECT_THAT(both.trees[0].nodes[5].children, ElementsAre(4));
  EXPECT_EQ(both.trees[1].root, 2u);
  EXPECT_THAT(both.trees[1].nodes[2].children, ElementsAre(4, 0));
}

TEST(DoubleTree, OfFiveNodesIsShiftedByOne) {
  const DoubleTree both = double_tree(5);
  EXPECT_EQ(both.trees[0].root, 3u);
  EXPECT_THAT(both.trees[0].nodes[3].children, ElementsAre(1, 4));
  EXPECT_EQ(both.trees[1].root, 2u);
  EXPECT_THAT(both.trees[1].nodes[2].children, ElementsAre(0, 3));
}

TEST(DoubleTree, SpansAllNodesAtLogarithmicDepth) {
  for (uint32_t n = 1; n <= 300; ++n) {
    const uint32_t floor_log2 = static_cast<uint32_t>(std::bit_width(n)) - 1;
    for (const BinaryTree& tree : double_tree(n).trees) {
      ASSERT_EQ(tree.nodes.size(), n);
      for (uint32_t node = 0; node < n; ++node) {
        ASSERT_LE(depth_of(tree, node), floor_log2) << n << " nodes, node " << node;
        ASSERT_LE(tree.nodes[node].children.size(), 2u);
        for (const uint32_t child : tree.nodes[node].children) {
          ASSERT_EQ(tree.nodes[child].parent, node);
        }
      }
    }
  }
}

TEST(DoubleTree, GivesANodeChildrenInOneTreeOnly) {
  for (uint32_t n = 1; n <= 300; ++n) {
    const DoubleTree both = double_tree(n);
    for (uint32_t node = 0; node < n; ++node) {
      EXPECT_TRUE(both.trees[0].nodes[node].children.empty() ||
                  both.trees[1].nodes[node].children.empty())
          << n << " nodes, node " << node;
    }
  }
}

}  // namespace
}  // namespace tutti::plan
