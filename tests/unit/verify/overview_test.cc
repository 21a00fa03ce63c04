// The replay summed up: groups of ranks, how full fields are, who sends to whom, and what is right.
#include "verify/overview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "ir/builder.h"
#include "tests/unit/verify/ring.h"

namespace tutti::verify {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

uint64_t right_in_the_end(const Overview& overview) {
  std::vector<uint64_t> right = overview.right_at_start;
  for (const OverviewRound& round : overview.rounds) {
    for (const RowRight& row : round.right) right[row.row] = row.num_right;
  }
  uint64_t all = 0;
  for (uint64_t its : right) all += its;
  return all;
}

TEST(Overview, OfFewRanksHasARowForEachOfThem) {
  const Overview overview = write_overview(ring_all_reduce(3)).value();
  EXPECT_THAT(overview.row_begin, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(overview.column_begin, ElementsAre(0, 1, 2, 3));
  // Each rank has one contribution of three to each chunk: log 2 / log 4 is a half.
  EXPECT_THAT(overview.start, ElementsAreArray(std::vector<uint8_t>(9, 1 + 253 / 2)));
}

TEST(Overview, OfManyRanksHasRowsOfNeighboursThatDifferByOneAtMost) {
  const Overview overview =
      write_overview(ring_all_reduce(7), {.max_rows = 3, .max_columns = 2}).value();
  EXPECT_THAT(overview.row_begin, ElementsAre(0, 3, 5, 7));
  EXPECT_THAT(overview.column_begin, ElementsAre(0, 4, 7));
  EXPECT_THAT(overview.num_results, ElementsAre(21, 14, 14));
}

TEST(Overview, OfARingEndsWholeAndRight) {
  for (uint32_t p : {1u, 2u, 5u, 70u}) {
    const Overview overview = write_overview(ring_all_reduce(p)).value();
    EXPECT_FALSE(overview.refusal);
    std::vector<uint8_t> levels = overview.start;
    for (const OverviewRound& round : overview.rounds) {
      for (const LevelChange& change : round.changes) levels[change.field] = change.level;
    }
    EXPECT_THAT(levels, ElementsAreArray(std::vector<uint8_t>(levels.size(), kWholeLevel)));
    EXPECT_EQ(right_in_the_end(overview), uint64_t{p} * p);
  }
}

TEST(Overview, CountsTheMessagesBetweenRows) {
  const Overview overview =
      write_overview(ring_all_reduce(6), {.max_rows = 2, .max_columns = 2}).value();
  ASSERT_EQ(overview.rounds.size(), 11u);
  EXPECT_EQ(overview.rounds[0].num_messages, 0u);
  for (size_t i = 1; i < overview.rounds.size(); ++i) {
    EXPECT_EQ(overview.rounds[i].num_messages, 6u);
    EXPECT_THAT(overview.rounds[i].traffic, ElementsAre(RowTraffic{0, 0, 2}, RowTraffic{0, 1, 1},
                                                        RowTraffic{1, 0, 1}, RowTraffic{1, 1, 2}));
  }
}

// "recv_copy_send: gives whole takes whole".
std::vector<std::string> words_of(const OverviewRound& round) {
  std::vector<std::string> words;
  for (const Doing& doing : round.doings) {
    std::string its(ir::to_string(doing.step.kind));
    its += ":";
    if (doing.gives_whole) its += " gives whole";
    if (doing.takes_whole) its += " takes whole";
    if (doing.gives_taken) its += " gives taken";
    if (doing.gives_its_own) its += " gives its own";
    if (doing.takes_its_own) its += " takes its own";
    words.push_back(its);
  }
  return words;
}

TEST(Overview, TellsApartWhatStepsOfOneKindDo) {
  const Overview overview = write_overview(ring_all_reduce(3)).value();
  ASSERT_EQ(overview.rounds.size(), 5u);
  EXPECT_THAT(words_of(overview.rounds[0]), ElementsAre("send:"));
  EXPECT_THAT(words_of(overview.rounds[1]), ElementsAre("recv_reduce_copy_send:"));
  EXPECT_THAT(words_of(overview.rounds[2]),
              ElementsAre("recv_reduce_copy_send: gives whole gives its own"));
  EXPECT_THAT(words_of(overview.rounds[3]),
              ElementsAre("recv_copy_send: gives whole takes whole gives taken takes its own"));
  EXPECT_THAT(words_of(overview.rounds[4]), ElementsAre("recv: takes whole"));
}

TEST(Overview, TellsStepsApartByWhatTheCallerAsksFor) {
  OverviewOptions options;
  options.trait_of = [](Rank rank, const ir::Step& /*step*/) { return rank.value / 2; };
  const Overview overview = write_overview(ring_all_reduce(5), options).value();
  std::vector<uint32_t> traits;
  for (const Doing& doing : overview.rounds[0].doings) traits.push_back(doing.rank.value / 2);
  EXPECT_THAT(traits, testing::UnorderedElementsAre(0, 1, 2));
}

TEST(Overview, OfAWrongScheduleIsNotAllRightAndSaysWhy) {
  ir::Schedule schedule = ring_all_reduce(4);
  ir::Step& step = schedule.ranks[2].lanes[0].steps[1];
  ASSERT_EQ(step.kind, ir::StepKind::kRecvReduceCopySend);
  step.kind = ir::StepKind::kRecvCopySend;
  step.src_buffer = ir::Buffer::kInput;
  step.src_index = 0;
  const Overview overview = write_overview(schedule).value();
  ASSERT_TRUE(overview.refusal);
  EXPECT_EQ(overview.refusal->rule, Rule::kResult);
  EXPECT_EQ(right_in_the_end(overview), 4u * 4 - 4);  // one chunk, on every rank
  const uint32_t chunk = step.dst_index;
  EXPECT_THAT(overview.wrong_fields, ElementsAre(chunk, 4 + chunk, 8 + chunk, 12 + chunk));
}

TEST(Overview, OfADeadlockNamesWhereLanesStand) {
  ir::Builder b({CollectiveKind::kAllReduce, 2}, {.name = "stuck"});
  for (uint32_t r : {0u, 1u}) {
    ir::LaneWriter lane = b.add_lane(Rank{r});
    lane.recv_reduce(ir::input(0), ir::output(0), Rank{1 - r});
    lane.send(ir::input(0), Rank{1 - r});
  }
  const Overview overview = write_overview(std::move(b).finish()).value();
  ASSERT_TRUE(overview.refusal);
  EXPECT_EQ(overview.refusal->rule, Rule::kDeadlock);
  EXPECT_THAT(overview.stuck, ElementsAre(StepName{Rank{0}, {0, 0}}, StepName{Rank{1}, {0, 0}}));
  EXPECT_THAT(overview.wrong_fields, testing::IsEmpty());  // nothing is finished, nothing is wrong
}

}  // namespace
}  // namespace tutti::verify
