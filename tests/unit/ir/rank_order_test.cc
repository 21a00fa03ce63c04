#include "ir/msccl/rank_order.h"

#include <gtest/gtest.h>

#include "tests/unit/ir/schedules.h"

namespace tutti::ir::msccl {
namespace {

Schedule three_lanes() {
  Builder b({CollectiveKind::kAllReduce, 1, 0, 0}, {});
  LaneWriter x = b.add_lane(Rank{0});
  LaneWriter y = b.add_lane(Rank{0});
  LaneWriter z = b.add_lane(Rank{0});
  const auto copy = [](LaneWriter& lane, After after = {}) {
    return lane.copy(input(0), output(0), after);
  };
  copy(x, {StepRef{2, 0}});  // x0 waits for a lane that comes later
  const StepRef x1 = copy(x);
  copy(y);
  copy(y, {x1});
  copy(z);
  return std::move(b).finish();
}

TEST(RankOrder, FollowsLanesAndDependenciesTransitively) {
  const Schedule schedule = three_lanes();
  const RankOrder order(schedule.ranks[0]);
  EXPECT_TRUE(order.before({0, 0}, {0, 1}));
  EXPECT_TRUE(order.before({2, 0}, {0, 0}));
  EXPECT_TRUE(order.before({2, 0}, {1, 1}));
  EXPECT_TRUE(order.before({0, 0}, {1, 1}));
  EXPECT_FALSE(order.before({0, 1}, {0, 0}));
  EXPECT_FALSE(order.before({0, 1}, {0, 1}));
  EXPECT_FALSE(order.before({1, 0}, {0, 0}));
  EXPECT_FALSE(order.before({0, 0}, {1, 0}));
  EXPECT_EQ(order.order().size(), 5u);
}

TEST(RankOrder, ListsEveryStepAfterWhatItDependsOn) {
  for (const auto& [name, schedule] : test::catalogue({3, 8})) {
    for (const RankProgram& program : schedule.ranks) {
      const RankOrder order(program);
      std::vector<uint32_t> done(program.lanes.size(), 0);
      for (StepRef ref : order.order()) {
        EXPECT_EQ(ref.step, done[ref.lane]++) << name;
        for (StepRef dep : program.deps_of(program.lanes[ref.lane].steps[ref.step])) {
          EXPECT_LT(dep.step, done[dep.lane]) << name;
          EXPECT_TRUE(order.before(dep, ref)) << name;
        }
      }
    }
  }
}

TEST(RankOrder, StepsOnACycleHaveNone) {
  Builder b({CollectiveKind::kAllReduce, 1, 0, 0}, {});
  LaneWriter x = b.add_lane(Rank{0});
  LaneWriter y = b.add_lane(Rank{0});
  x.copy(input(0), output(0));
  x.copy(input(0), output(0), {StepRef{1, 0}});
  y.copy(input(0), output(0), {StepRef{0, 1}});
  const Schedule schedule = std::move(b).finish();
  EXPECT_EQ(RankOrder(schedule.ranks[0]).order(), (std::vector<StepRef>{{0, 0}}));
}

}  // namespace
}  // namespace tutti::ir::msccl
