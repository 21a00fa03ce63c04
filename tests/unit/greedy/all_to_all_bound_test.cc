#include "plan/packing/all_to_all_bound.h"

#include <gtest/gtest.h>

#include "tests/unit/greedy/random_topology.h"

namespace tutti::plan::packing {
namespace {

// ns for a message of 1000 bytes a rank.
double bound_of(const std::string& name) { return all_to_all_bound(synth::machine(name), 1000).ns; }

// Every pair has a link of its own: one block of 125 bytes at 25 GB/s.
TEST(AllToAllBound, OfAFullMeshIsOneBlockALink) { EXPECT_NEAR(bound_of("mesh:8"), 5, 1e-9); }

// A port of 25 GB/s each way: 7 of 8 blocks must leave.
TEST(AllToAllBound, OfASwitchIsThePort) { EXPECT_NEAR(bound_of("switch:8"), 35, 1e-9); }

// Ways of a ring of 8 are 16 links long from each rank, over two links each of 25 GB/s. The links
// between device and router are as wide as both together and not crowded.
TEST(AllToAllBound, OfARingIsTheLengthOfAllWays) {
  EXPECT_LE(bound_of("ring:8"), 40 * (1 + 1e-9));
  EXPECT_GT(bound_of("ring:8"), 40 * 0.97);
}

TEST(AllToAllBound, OfATorusIsTheLengthOfAllWays) {
  EXPECT_LE(bound_of("torus:4x4"), 20 * (1 + 1e-9));
  EXPECT_GT(bound_of("torus:4x4"), 20 * 0.97);
}

// 32 ranks of a side: there is time for a few rounds only.
TEST(AllToAllBound, OfAThousandRanksIsTheLengthOfAllWaysToo) {
  const double exact = 16'384.0 / 4 * (1000.0 / 1024) / 25;
  EXPECT_LE(bound_of("torus:32x32"), exact * (1 + 1e-9));
  EXPECT_GT(bound_of("torus:32x32"), exact * 0.97);
}

// Half of all blocks cross the middle of a line, and one way is one link.
TEST(AllToAllBound, OfALineIsItsMiddle) {
  EXPECT_LE(bound_of("grid:1x16"), 64 * 62.5 / 25 * (1 + 1e-9));
  EXPECT_GT(bound_of("grid:1x16"), 64 * 62.5 / 25 * 0.97);
}

// One NIC of 12.5 GB/s carries half the blocks of 8 ranks.
TEST(AllToAllBound, OfTwoMachinesIsTheNic) {
  EXPECT_LE(bound_of("ndv2*2"), 320 * (1 + 1e-9));
  EXPECT_GT(bound_of("ndv2*2"), 320 * 0.97);
}

TEST(AllToAllBound, IsNothingForOneRank) { EXPECT_EQ(bound_of("switch:1"), 0); }

}  // namespace
}  // namespace tutti::plan::packing
