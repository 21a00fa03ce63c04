#include "plan/packing/repair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/packing/pack.h"
#include "plan/packing/tree_schedule.h"
#include "tests/unit/packing/machine.h"
#include "tests/unit/plan/expect_proved.h"
#include "topo/build.h"
#include "topo/variants.h"

namespace tutti::plan::packing {
namespace {

constexpr CollectiveKind kRepairable[] = {
    CollectiveKind::kBroadcast, CollectiveKind::kReduce, CollectiveKind::kAllGather,
    CollectiveKind::kReduceScatter, CollectiveKind::kAllReduce};

// Where trees are as fast as all links allow nothing moves; elsewhere slow links may help.
TEST(Repair, WithoutAFailureTreesDoNotGetSlower) {
  const topo::Topology dgx = machine("dgx-1v");
  for (const CollectiveKind kind : kRepairable) {
    const Collective collective{kind, 8};
    const Packing packing = pack(collective, dgx).value();
    const Repaired same = repair(collective, packing.trees, dgx).value();
    EXPECT_GE(same.routed_gbps, packing.routed_gbps * (1 - kRounding)) << to_string(kind);
    EXPECT_LE(same.routed_gbps, packing.whole_gbps * (1 + kRounding)) << to_string(kind);
  }
}

TEST(Repair, TreesAreProvedRightAndNeverBeatTheBound) {
  const topo::Topology dgx = machine("dgx-1v");
  for (const char* const failed : {"gpu0~gpu3", "gpu0~gpu1", "gpu4~gpu7=0.5", "gpu2~gpu6"}) {
    const topo::Topology now =
        topo::change_link(dgx, topo::parse_link_change(failed).value()).value();
    for (const CollectiveKind kind : kRepairable) {
      SCOPED_TRACE(fmt::format("{} without {}", to_string(kind), failed));
      const Collective collective{kind, 8};
      const Repaired repaired =
          repair(collective, pack(collective, dgx).value().trees, now).value();
      expect_proved_and_right(tree_schedule(collective, repaired.trees, {"packed", 2}).value());
      const Packing anew = pack(collective, now).value();
      EXPECT_LE(repaired.routed_gbps, anew.whole_gbps * (1 + kRounding));
      EXPECT_GE(repaired.routed_gbps, 0.6 * anew.routed_gbps);
    }
  }
}

TEST(Repair, ARankThatHangsOnTheFailedLinkIsServedByAnother) {
  // Each of four has a link to each other; rank 0 sends to all directly, and loses one.
  const topo::Topology mesh = machine("dgx-1p");
  const topo::Topology four = topo::subset(mesh, {Rank{0}, Rank{1}, Rank{2}, Rank{3}}).value();
  const Collective broadcast{CollectiveKind::kBroadcast, 4};
  const std::vector<Tree> star = {{0, {kNoParent, 0, 0, 0}, 1}};
  const topo::Topology now = topo::without_link(four, "gpu0", "gpu3").value();
  const Repaired repaired = repair(broadcast, star, now).value();
  ASSERT_EQ(repaired.trees.size(), 1u);
  EXPECT_NE(repaired.trees[0].parent[3], 0u);
  EXPECT_GE(repaired.num_moved, 1u);
}

TEST(Repair, SaysWhoCannotBeReached) {
  topo::Topology line;
  line.name = "line";
  for (const char* const name : {"a", "b", "c"}) topo::add_rank(line, name, 0);
  const topo::Wire wire{topo::LinkClass::kNvlink, 10, 100};
  topo::connect(line, line.ranks[0], line.ranks[1], wire);
  topo::connect(line, line.ranks[1], line.ranks[2], wire);
  const Collective broadcast{CollectiveKind::kBroadcast, 3};
  const std::vector<Tree> trees = pack(broadcast, line).value().trees;
  const auto repaired = repair(broadcast, trees, topo::without_link(line, "b", "c").value());
  ASSERT_FALSE(repaired.ok());
  EXPECT_THAT(repaired.error().message, testing::HasSubstr("c (rank 2)"));
}

TEST(Repair, RefusesWhatIsNoTree) {
  const topo::Topology ring = machine("ring:3");
  const Collective broadcast{CollectiveKind::kBroadcast, 3};
  EXPECT_FALSE(repair(broadcast, {}, ring).ok());
  EXPECT_FALSE(repair(broadcast, {{0, {kNoParent, 0}, 1}}, ring).ok());
  EXPECT_FALSE(repair(broadcast, {{0, {kNoParent, 2, 1}, 1}}, ring).ok());
  EXPECT_FALSE(repair(broadcast, {{0, {kNoParent, kNoParent, 1}, 1}}, ring).ok());
  EXPECT_FALSE(repair(broadcast, {{0, {kNoParent, 7, 1}, 1}}, ring).ok());
}

}  // namespace
}  // namespace tutti::plan::packing
