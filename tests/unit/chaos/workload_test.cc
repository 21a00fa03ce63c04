#include "tools/chaos/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace tutti::tools::chaos {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::IsSupersetOf;
using testing::Le;
using testing::UnorderedElementsAreArray;

Settings settings_for(Pattern pattern, uint32_t num_ranks) {
  Settings settings;
  settings.pattern = pattern;
  settings.num_ranks = num_ranks;
  settings.num_collectives = 40;
  settings.seed = 7;
  return completed(settings).value();
}

std::vector<uint32_t> tasks_with(const Workload& workload, uint32_t rank) {
  std::vector<uint32_t> tasks;
  for (const Task& task : workload.tasks) {
    const auto& members = workload.groups[task.group];
    if (std::count(members.begin(), members.end(), rank) == 1) tasks.push_back(task.index);
  }
  return tasks;
}

TEST(Workload, IsTheSameForTheSameSeedAndAnotherForAnother) {
  const Settings settings = settings_for(Pattern::kRandom, 4);
  Settings other = settings;
  other.seed = 8;
  const auto text = [](const Settings& s) {
    std::string all;
    for (const Task& task : make_workload(s).tasks) all += task.describe() + "\n";
    return all;
  };
  EXPECT_EQ(text(settings), text(settings));
  EXPECT_NE(text(settings), text(other));
}

TEST(Workload, EveryRankIssuesEveryTaskOfItsGroupsOnce) {
  for (const Pattern pattern : kPatterns) {
    const Settings settings = settings_for(pattern, 6);
    const Workload workload = make_workload(settings);
    for (const Order order : {Order::kAny, Order::kOne}) {
      for (uint32_t rank = 0; rank < 6; ++rank) {
        EXPECT_THAT(issue_order(settings, workload, rank, {3, 0, 40, order}),
                    UnorderedElementsAreArray(tasks_with(workload, rank)));
      }
    }
  }
}

TEST(Workload, RanksDisagreeInAnyOrderAndAgreeInOne) {
  const Settings settings = settings_for(Pattern::kTorchrec, 2);
  const Workload workload = make_workload(settings);
  const auto order = [&](uint32_t rank, Order kind) {
    return issue_order(settings, workload, rank, {0, 0, 40, kind});
  };
  EXPECT_NE(order(0, Order::kAny), order(1, Order::kAny));
  EXPECT_EQ(order(0, Order::kOne), order(1, Order::kOne));
}

TEST(Workload, NoTwoRanksOfALatinSquareHaveATaskAtTheSamePlace) {
  Settings settings = settings_for(Pattern::kLatin, 8);
  settings.num_groups = 1;
  const Workload workload = make_workload(settings);
  for (uint32_t place = 0; place < 40; ++place) {
    std::set<uint32_t> tasks;
    for (uint32_t rank = 0; rank < 8; ++rank) {
      tasks.insert(issue_order(settings, workload, rank, {0, 0, 40, Order::kAny})[place]);
    }
    EXPECT_EQ(tasks.size(), 8U);
  }
}

TEST(Workload, TorchrecDoesAllToAllsFirstOnHalfOfTheRanks) {
  const Settings settings = settings_for(Pattern::kTorchrec, 4);
  const Workload workload = make_workload(settings);
  uint32_t exchanging_first = 0;
  for (uint32_t rank = 0; rank < 4; ++rank) {
    const auto order = issue_order(settings, workload, rank, {0, 0, 40, Order::kAny});
    const auto kind_at = [&](size_t i) { return workload.tasks[order[i]].kind; };
    EXPECT_NE(kind_at(0), kind_at(39));
    exchanging_first += kind_at(0) == CollectiveKind::kAllToAll ? 1 : 0;
  }
  EXPECT_EQ(exchanging_first, 2U);
}

TEST(Workload, AGridPutsEveryRankIntoThreeGroupsThatOverlap) {
  const Workload workload = make_workload(settings_for(Pattern::kGrid, 8));
  EXPECT_EQ(workload.groups.size(), 12U);
  EXPECT_THAT(workload.groups,
              IsSupersetOf({ElementsAre(0, 1), ElementsAre(0, 2), ElementsAre(0, 4),
                            ElementsAre(5, 7), ElementsAre(3, 7)}));
}

TEST(Workload, BlocksBelongToTheMembersAndSizesStayWithinTheLimit) {
  Settings settings = settings_for(Pattern::kRandom, 5);
  settings.num_collectives = 2000;
  settings.max_bytes = 4096;
  const Workload workload = make_workload(settings);
  for (const Task& task : workload.tasks) {
    EXPECT_EQ(task.blocks.size(), workload.groups[task.group].size());
    // Uneven blocks are up to twice as long; short rows have one element a member.
    EXPECT_THAT(task.row() * size_of(task.type), AllOf(Ge(0U), Le(2 * 4096U + 5 * 8)));
  }
}

TEST(Settings, RefuseWhatCannotBe) {
  Settings settings;
  settings.kill = settings.threads = true;
  EXPECT_FALSE(completed(settings).ok());
  settings.threads = false;
  settings.num_ranks = 1;
  EXPECT_FALSE(completed(settings).ok());
}

TEST(Settings, ManyCollectivesAreSmall) {
  Settings settings;
  settings.num_collectives = 10'000;
  const Settings all = completed(settings).value();
  EXPECT_EQ(all.in_flight, 10'000U);
  EXPECT_LE(all.max_bytes, 64U << 10);
}

}  // namespace
}  // namespace tutti::tools::chaos
