// Packed trees as schedules: proved, and right on real numbers, for every collective they serve.
#include "plan/packing/tree_schedule.h"

#include <gtest/gtest.h>

#include "plan/packed.h"
#include "plan/packing/arborescences.h"
#include "plan/packing/spanning_trees.h"
#include "tests/unit/packing/random_graphs.h"
#include "tests/unit/plan/expect_proved.h"

namespace tutti::plan::packing {
namespace {

std::vector<Tree> trees_for(CollectiveKind kind, uint32_t n, uint32_t root, uint32_t seed) {
  const Graph graph = random_graph(n, seed, true);
  if (kind == CollectiveKind::kAllReduce) {
    auto trees = pack_spanning_trees(graph, 8);
    for (Tree& tree : trees) tree = centred(tree);
    return merged(trees);
  }
  const bool all = kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter;
  std::vector<int64_t> demand(n, all ? 1 : 0);
  demand[root] = 1;
  const Fraction rate = least_cut(graph, demand).rate;
  for (int64_t& each : demand) each *= rate.numerator();
  return pack_arborescences(scaled(graph, rate.denominator(), 1), demand);
}

TEST(TreeSchedule, IsProvedForRandomTrees) {
  for (uint32_t seed = 0; seed < num_trials(30); ++seed) {
    const uint32_t n = 1 + seed % 8;
    for (const CollectiveKind kind :
         {CollectiveKind::kBroadcast, CollectiveKind::kReduce, CollectiveKind::kAllGather,
          CollectiveKind::kReduceScatter, CollectiveKind::kAllReduce}) {
      const uint32_t root = is_rooted(kind) ? seed % n : 0;
      const std::vector<Tree> trees = n == 1 ? std::vector<Tree>() : trees_for(kind, n, root, seed);
      const uint32_t pieces = 1 + seed % 5;
      expect_proved_and_right(tree_schedule({kind, n, root}, trees, {"packed", pieces}).value());
    }
  }
}

TEST(TreeSchedule, RefusesMoreChunksThanCanBeNumbered) {
  const std::vector<Tree> trees = {{0, {kNoParent, 0}, int64_t{1} << 31}};
  const auto schedule = tree_schedule({CollectiveKind::kBroadcast, 2}, trees, {"packed", 4});
  ASSERT_FALSE(schedule.ok());
  EXPECT_EQ(schedule.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace tutti::plan::packing
