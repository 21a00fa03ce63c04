#include "verify/contribution_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <set>
#include <vector>

namespace tutti::verify {
namespace {

using Ranks = std::set<uint32_t>;

Ranks ranks_of(const ContributionSets& sets, ContributionSet set) {
  Ranks ranks;
  for (auto range : sets.ranges(set)) {
    for (uint32_t r = range.begin; r < range.end; ++r) ranks.insert(r);
  }
  return ranks;
}

ContributionSet make_set(ContributionSets& sets, std::initializer_list<uint32_t> ranks) {
  ContributionSet set;
  for (uint32_t r : ranks) set = sets.unite(set, sets.only(Rank{r})).set;
  return set;
}

TEST(ContributionSet, OfOneRankIsThatRank) {
  const ContributionSets sets(5);
  EXPECT_EQ(ranks_of(sets, sets.only(Rank{3})), Ranks{3});
}

TEST(ContributionSet, OfTheOnlyRankIsAll) {
  const ContributionSets sets(1);
  EXPECT_EQ(sets.only(Rank{0}), sets.all());
}

TEST(ContributionSet, NeighboursAroundTheEndMakeAnArc) {
  ContributionSets sets(5);
  const auto united = sets.unite(sets.only(Rank{4}), sets.only(Rank{0}));
  EXPECT_TRUE(united.disjoint);
  EXPECT_EQ(united.set, (ContributionSet{4, 2}));
  EXPECT_EQ(ranks_of(sets, united.set), (Ranks{0, 4}));
}

TEST(ContributionSet, SaysWhenAContributionIsCountedTwice) {
  ContributionSets sets(6);
  EXPECT_FALSE(sets.unite(make_set(sets, {0, 1, 2}), make_set(sets, {2, 3})).disjoint);
  EXPECT_FALSE(sets.unite(make_set(sets, {0, 2}), make_set(sets, {1, 2})).disjoint);
  EXPECT_FALSE(sets.unite(sets.all(), sets.only(Rank{5})).disjoint);
  EXPECT_TRUE(sets.unite(make_set(sets, {0, 2, 4}), make_set(sets, {1, 3, 5})).disjoint);
}

TEST(ContributionSet, IsTheSameHandleHoweverItWasMade) {
  ContributionSets sets(7);
  EXPECT_EQ(make_set(sets, {0, 2, 4}), make_set(sets, {4, 0, 2}));
  EXPECT_EQ(make_set(sets, {6, 1, 0, 2}), make_set(sets, {0, 1, 2, 6}));
  EXPECT_EQ(make_set(sets, {3, 4, 5, 6, 0, 1, 2}), sets.all());
  EXPECT_EQ(make_set(sets, {0, 2, 4, 6, 1, 3, 5}), sets.all());
}

TEST(ContributionSet, NamesWhatIsCommonAndWhatIsMissing) {
  ContributionSets sets(8);
  const auto a = make_set(sets, {0, 1, 2, 3, 4, 6});
  EXPECT_EQ(sets.missing(a), (ContributionSets::Ranges{{5, 6}, {7, 8}}));
  EXPECT_EQ(sets.common(a, make_set(sets, {3, 4, 5, 6})),
            (ContributionSets::Ranges{{3, 5}, {6, 7}}));
  EXPECT_TRUE(sets.missing(sets.all()).empty());
}

TEST(ContributionSet, UnitesLikeASetOfRanks) {
  std::mt19937 random(1);
  for (uint32_t num_ranks : {1u, 2u, 3u, 7u, 16u}) {
    ContributionSets sets(num_ranks);
    std::vector<ContributionSet> made{{}};
    for (uint32_t r = 0; r < num_ranks; ++r) made.push_back(sets.only(Rank{r}));
    for (int i = 0; i < 300; ++i) {
      const ContributionSet a = made[random() % made.size()];
      const ContributionSet b = made[random() % made.size()];
      const Ranks of_a = ranks_of(sets, a);
      const Ranks of_b = ranks_of(sets, b);
      Ranks both = of_a;
      both.insert(of_b.begin(), of_b.end());
      const auto united = sets.unite(a, b);
      EXPECT_EQ(ranks_of(sets, united.set), both);
      EXPECT_EQ(united.disjoint, both.size() == of_a.size() + of_b.size());
      made.push_back(united.set);
    }
    for (ContributionSet a : made) {
      for (ContributionSet b : made) {
        EXPECT_EQ(a == b, ranks_of(sets, a) == ranks_of(sets, b));
      }
    }
  }
}

}  // namespace
}  // namespace tutti::verify
