#include "ir/matching.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/ir/schedules.h"

namespace tutti::ir {
namespace {

using testing::HasSubstr;

TEST(StepNumbering, CountsThroughEmptyLanesAndRanks) {
  Builder b({CollectiveKind::kAllReduce, 4, 0, 0}, {});
  b.add_lane(Rank{0});
  LaneWriter x = b.add_lane(Rank{0});
  x.copy(input(0), output(0));
  x.copy(input(0), output(0));
  b.add_lane(Rank{0});
  b.add_lane(Rank{2});
  LaneWriter y = b.add_lane(Rank{2});
  y.copy(input(0), output(0));
  const Schedule schedule = std::move(b).finish();
  const StepNumbering numbering(schedule);
  ASSERT_EQ(numbering.num_steps(), 3u);
  const std::vector<std::pair<Rank, StepRef>> places = {
      {Rank{0}, {1, 0}}, {Rank{0}, {1, 1}}, {Rank{2}, {1, 0}}};
  for (uint32_t n = 0; n < 3; ++n) {
    EXPECT_EQ(numbering.place(n).rank, places[n].first);
    EXPECT_EQ(numbering.place(n).ref, places[n].second);
    EXPECT_EQ(numbering.number(places[n].first, places[n].second), n);
  }
}

TEST(StepNumbering, TranslatesEveryStepOfEveryAlgorithmBothWays) {
  for (const auto& [name, schedule] : test::catalogue({1, 4, 7})) {
    const StepNumbering numbering(schedule);
    StepNumber next = 0;
    for (uint32_t r = 0; r < schedule.ranks.size(); ++r) {
      for (uint32_t l = 0; l < schedule.ranks[r].lanes.size(); ++l) {
        for (uint32_t s = 0; s < schedule.ranks[r].lanes[l].steps.size(); ++s) {
          ASSERT_EQ(numbering.number(Rank{r}, {l, s}), next) << name;
          ASSERT_EQ(numbering.place(next).rank, Rank{r}) << name;
          ASSERT_EQ(numbering.place(next).ref, (StepRef{l, s})) << name;
          ++next;
        }
      }
    }
    EXPECT_EQ(numbering.num_steps(), next) << name;
  }
}

TEST(Matching, TheNthMessageSentIsTheNthReceived) {
  Builder b({CollectiveKind::kAllReduce, 2, 0, 0}, {.name = "t", .chunks_per_block = 2});
  LaneWriter x = b.add_lane(Rank{0});
  LaneWriter other = b.add_lane(Rank{0}, 1);
  LaneWriter y = b.add_lane(Rank{1});
  LaneWriter z = b.add_lane(Rank{1}, 1);
  x.send(input(0), Rank{1});      // 0
  x.send(input(0, 2), Rank{1});   // 1
  other.send(input(1), Rank{1});  // 2
  y.recv(output(0), Rank{0});     // 3
  y.recv(output(0, 2), Rank{0});  // 4
  z.recv(output(1), Rank{0});     // 5
  const Schedule schedule = std::move(b).finish();
  const Matching matching = match_messages(schedule, StepNumbering(schedule)).value();
  EXPECT_EQ(matching.taker, (std::vector<StepNumber>{3, 4, 5, kNoStep, kNoStep, kNoStep}));
  EXPECT_EQ(matching.sender, (std::vector<StepNumber>{kNoStep, kNoStep, kNoStep, 0, 1, 2}));
  EXPECT_EQ(matching.sequence[0], 0u);
  EXPECT_EQ(matching.sequence[1], 1u);
  EXPECT_EQ(matching.sequence[2], 0u);
}

TEST(Matching, EveryAlgorithmMatches) {
  for (const auto& [name, schedule] : test::catalogue({1, 2, 3, 6, 8})) {
    const auto matching = match_messages(schedule, StepNumbering(schedule));
    EXPECT_TRUE(matching) << name << ": " << (matching ? "" : matching.error().message);
  }
}

std::string error_of(Builder&& b) {
  const Schedule schedule = std::move(b).finish();
  const auto matching = match_messages(schedule, StepNumbering(schedule));
  return matching ? "" : matching.error().message;
}

TEST(Matching, RefusesASendThatNobodyTakes) {
  Builder b({CollectiveKind::kAllReduce, 3, 0, 0}, {});
  b.add_lane(Rank{1}).send(input(0), Rank{0});
  LaneWriter x = b.add_lane(Rank{0});
  x.recv(output(0), Rank{1});
  x.send(input(0), Rank{2});
  EXPECT_THAT(error_of(std::move(b)), HasSubstr("rank 0 lane 0 step 1 sends"));
}

TEST(Matching, RefusesARecvThatNobodySends) {
  Builder b({CollectiveKind::kAllReduce, 2, 0, 0}, {});
  LaneWriter x = b.add_lane(Rank{0});
  x.send(input(0), Rank{1});
  LaneWriter y = b.add_lane(Rank{1});
  y.recv(output(0), Rank{0});
  y.recv(output(0), Rank{0});
  EXPECT_THAT(error_of(std::move(b)), HasSubstr("rank 1 lane 0 step 1 receives"));
}

TEST(Matching, RefusesTheSamePeersOnDifferentChannels) {
  Builder b({CollectiveKind::kAllReduce, 2, 0, 0}, {});
  b.add_lane(Rank{0}, 0).send(input(0), Rank{1});
  b.add_lane(Rank{1}, 1).recv(output(0), Rank{0});
  EXPECT_THAT(error_of(std::move(b)), HasSubstr("no step for this message"));
}

TEST(Matching, RefusesAMessageThatIsTakenInAnotherLength) {
  Builder b({CollectiveKind::kAllReduce, 2, 0, 0}, {.name = "t", .chunks_per_block = 2});
  b.add_lane(Rank{0}).send(input(0, 2), Rank{1});
  b.add_lane(Rank{1}).recv(output(0), Rank{0});
  EXPECT_THAT(error_of(std::move(b)), HasSubstr("sends 2 chunks"));
}

TEST(Matching, RefusesAConnectionOfTwoLanes) {
  Builder b({CollectiveKind::kAllReduce, 2, 0, 0}, {});
  b.add_lane(Rank{0}).send(input(0), Rank{1});
  b.add_lane(Rank{0}).send(input(0), Rank{1});
  LaneWriter y = b.add_lane(Rank{1});
  y.recv(output(0), Rank{0});
  y.recv(output(0), Rank{0});
  EXPECT_THAT(error_of(std::move(b)), HasSubstr("both send"));
}

}  // namespace
}  // namespace tutti::ir
