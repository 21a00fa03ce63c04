#include "tools/launch/line_merger.h"

#include <gtest/gtest.h>

namespace tutti::tools::launch {
namespace {

class LineMergerTest : public testing::Test {
 protected:
  std::string add(size_t source, std::string_view piece) {
    std::string out;
    merger_.add(source, piece, out);
    return out;
  }

  LineMerger merger_{rank_prefixes(3, Prefix::kPlain)};
};

TEST_F(LineMergerTest, EveryLineHasItsPrefix) {
  EXPECT_EQ(add(0, "a\nb\n"), "[0] a\n[0] b\n");
  EXPECT_EQ(add(2, "\n"), "[2] \n");
  EXPECT_EQ(add(1, ""), "");
}

TEST_F(LineMergerTest, TheSameSourceContinuesItsLine) {
  EXPECT_EQ(add(1, "name: "), "[1] name: ");
  EXPECT_EQ(add(1, "x"), "x");
  EXPECT_EQ(add(1, "y\nz\n"), "y\n[1] z\n");
}

TEST_F(LineMergerTest, AnotherSourceEndsAnOpenLineFirst) {
  EXPECT_EQ(add(1, "name: "), "[1] name: ");
  EXPECT_EQ(add(0, "hello\n"), "\n[0] hello\n");
  EXPECT_EQ(add(1, "x\n"), "[1] x\n");
}

TEST_F(LineMergerTest, TheLaunchersOwnLinesHaveNoPrefixAndMixNeither) {
  constexpr size_t kLauncher = 3;
  EXPECT_EQ(add(2, "half"), "[2] half");
  EXPECT_EQ(add(kLauncher, "a rank died\n"), "\na rank died\n");
}

TEST(LineMerger, WithoutPrefixesASingleSourceIsUnchanged) {
  LineMerger merger(rank_prefixes(2, Prefix::kNone));
  const std::string bytes("a\n\0b\r\nno end", 12);
  std::string out;
  merger.add(1, bytes, out);
  merger.add(1, bytes, out);
  EXPECT_EQ(out, bytes + bytes);
  merger.add(0, "x", out);
  EXPECT_EQ(out, bytes + bytes + "\nx");
}

TEST(RankPrefixes, AreAlignedToTheLastRank) {
  EXPECT_EQ(rank_prefixes(1, Prefix::kPlain)[0], "[0] ");
  EXPECT_EQ(rank_prefixes(10, Prefix::kPlain)[9], "[9] ");
  const auto eleven = rank_prefixes(11, Prefix::kPlain);
  EXPECT_EQ(eleven[9], "[ 9] ");
  EXPECT_EQ(eleven[10], "[10] ");
  EXPECT_EQ(eleven[11], "");
}

TEST(RankPrefixes, ColoursDifferBetweenNeighboursAndEndBeforeTheText) {
  const auto prefixes = rank_prefixes(40, Prefix::kColoured);
  for (size_t rank = 1; rank < 40; ++rank) {
    EXPECT_NE(prefixes[rank].substr(0, 5), prefixes[rank - 1].substr(0, 5));
    EXPECT_TRUE(prefixes[rank].ends_with("\033[0m"));
  }
}

}  // namespace
}  // namespace tutti::tools::launch
