#include "plan/algorithms/binomial_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/plan/plan_facts.h"

namespace tutti::plan {
namespace {

using testing::ElementsAre;

TEST(BinomialTree, IsTheTextbookTreeForAPowerOfTwo) {
  const auto tree = binomial_tree(8, Rank{0});
  EXPECT_THAT(tree[0].children, ElementsAre(Rank{4}, Rank{2}, Rank{1}));
  EXPECT_THAT(tree[4].children, ElementsAre(Rank{6}, Rank{5}));
  EXPECT_THAT(tree[6].children, ElementsAre(Rank{7}));
  EXPECT_THAT(tree[7].children, ElementsAre());
}

TEST(BinomialTree, OfOneRankIsAlone) {
  const auto tree = binomial_tree(1, Rank{0});
  ASSERT_EQ(tree.size(), 1u);
  EXPECT_EQ(tree[0].parent, kNoRank);
  EXPECT_EQ(tree[0].size(), 1u);
  EXPECT_TRUE(tree[0].children.empty());
}

TEST(BinomialTree, CutsSevenRanksAroundARootInTheMiddle) {
  const auto tree = binomial_tree(7, Rank{3});
  EXPECT_THAT(tree[3].children, ElementsAre(Rank{4}, Rank{0}, Rank{2}));
  EXPECT_EQ(tree[4].end, 7u);
  EXPECT_EQ(tree[0].end, 2u);
}

// Every subtree is a range: the node itself and its children's ranges, without gap or overlap.
TEST(BinomialTree, SubtreesAreRangesThatPartitionTheirParents) {
  for (const uint32_t p : rank_counts()) {
    for (uint32_t root = 0; root < p; ++root) {
      const auto tree = binomial_tree(p, Rank{root});
      EXPECT_EQ(tree[root].parent, kNoRank);
      EXPECT_EQ(tree[root].size(), p);
      for (uint32_t r = 0; r < p; ++r) {
        std::vector<uint32_t> covered(p, 0);
        covered[r] = 1;
        uint32_t last_size = UINT32_MAX;
        for (const Rank child : tree[r].children) {
          const BinomialNode& below = tree[child.value];
          EXPECT_EQ(below.parent, Rank{r});
          EXPECT_EQ(below.begin, child.value);
          EXPECT_LE(below.size(), last_size) << "the largest subtree comes first";
          last_size = below.size();
          for (uint32_t i = below.begin; i < below.end; ++i) ++covered[i];
        }
        for (uint32_t i = 0; i < p; ++i) {
          EXPECT_EQ(covered[i], tree[r].contains(i) ? 1u : 0u) << "p " << p << " root " << root;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tutti::plan
