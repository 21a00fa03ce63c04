// `quick` tries little: what that costs, and that it keeps to what it allows itself.
#include "plan/quick.h"

#include <gtest/gtest.h>

#include "tests/unit/packing/machine.h"

namespace tutti::plan {
namespace {

constexpr CollectiveKind kOfTrees[] = {CollectiveKind::kAllGather, CollectiveKind::kAllReduce,
                                       CollectiveKind::kBroadcast, CollectiveKind::kReduceScatter};

TEST(QuickPlan, IsNearlyAsFastAsTheBestOfAllTrials) {
  for (const char* const name : {"dgx-1v", "ring:5", "switch:5"}) {
    const topo::Topology topology = packing::machine(name);
    for (const CollectiveKind kind : kOfTrees) {
      for (const uint64_t bytes : {uint64_t{1} << 12, uint64_t{1} << 20, uint64_t{1} << 25}) {
        SCOPED_TRACE(std::string(name) + " " + std::string(to_string(kind)) + " " +
                     std::to_string(bytes));
        const Collective collective{kind, topology.num_ranks()};
        const auto few = plan_quick(collective, topology, 0, bytes);
        const auto all = plan_quick(collective, topology, 0, bytes, kExhaustive);
        ASSERT_TRUE(few.ok() && all.ok());
        EXPECT_LE(few->ns, 1.03 * all->ns);
        EXPECT_GE(few->ns, all->ns);
      }
    }
  }
}

TEST(QuickPlan, TakesFewPiecesWhereManyWouldTakeLongToSimulate) {
  const topo::Topology torus = packing::machine("torus:4x4");
  const Collective all_gather{CollectiveKind::kAllGather, 16};
  // 240 messages on 16 x 4 links and as many to and from routers.
  const auto few = plan_quick(all_gather, torus, 0, 1 << 26, {.max_work = 2'000});
  EXPECT_LE(few->chunks, 4u);
  EXPECT_GT(plan_quick(all_gather, torus, 0, 1 << 26)->chunks, 4u);
}

TEST(QuickPlan, TakesThePiecesThatAreAskedFor) {
  const Collective broadcast{CollectiveKind::kBroadcast, 8};
  EXPECT_EQ(plan_quick(broadcast, packing::machine("dgx-1v"), 7, 1 << 20)->chunks, 7u);
}

}  // namespace
}  // namespace tutti::plan
