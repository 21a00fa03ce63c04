// The replay written down: rounds, what cells hold after each, what flies, and where it stops.
#include "verify/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "ir/builder.h"
#include "tests/unit/verify/ring.h"

namespace tutti::verify {
namespace {

using ir::input;
using ir::output;
using testing::HasSubstr;

History history_of(const ir::Schedule& schedule, const HistoryOptions& options = {}) {
  return write_history(schedule, options).value();
}

std::map<uint64_t, Held> cells_after(const History& history, size_t num_rounds) {
  std::map<uint64_t, Held> cells;
  for (const CellWrite& write : history.start) cells[write.cell] = write.value;
  for (size_t i = 0; i < num_rounds; ++i) {
    for (const CellWrite& write : history.rounds[i].writes) cells[write.cell] = write.value;
  }
  return cells;
}

uint64_t num_contributions(const History& history, Held held) {
  uint64_t total = 0;
  for (const auto& range : history.sets[held.set]) total += range.end - range.begin;
  return total;
}

void expect_outputs_as_wanted(const History& history) {
  const auto cells = cells_after(history, history.rounds.size());
  for (const CellWrite& wanted : history.wanted) {
    ASSERT_TRUE(cells.contains(wanted.cell));
    EXPECT_EQ(cells.at(wanted.cell), wanted.value) << "cell " << wanted.cell;
  }
}

TEST(History, OfARingHasARoundForEachHop) {
  for (uint32_t p : {2u, 3u, 5u, 8u}) {
    const History history = history_of(ring_all_reduce(p));
    EXPECT_FALSE(history.refusal);
    ASSERT_EQ(history.rounds.size(), 2 * (p - 1) + 1);
    EXPECT_TRUE(history.rounds[0].arrived.empty());
    for (size_t i = 1; i < history.rounds.size(); ++i) {
      EXPECT_EQ(history.rounds[i].arrived.size(), p);
      for (const Message& message : history.rounds[i].arrived) EXPECT_EQ(message.sent_in, i - 1);
    }
    expect_outputs_as_wanted(history);
    EXPECT_TRUE(history.never_taken.empty());
  }
}

TEST(History, OfARingShowsSumsGrowByOneContributionARound) {
  const uint32_t p = 5;
  const History history = history_of(ring_all_reduce(p));
  for (uint32_t round = 1; round < p; ++round) {
    for (const CellWrite& write : history.rounds[round].writes) {
      EXPECT_EQ(num_contributions(history, write.value), round + 1);
    }
  }
}

TEST(History, OfASingleRankIsOneRound) {
  const History history = history_of(ring_all_reduce(1));
  ASSERT_EQ(history.rounds.size(), 1u);
  expect_outputs_as_wanted(history);
}

TEST(History, InPlaceSharesCells) {
  const ir::Schedule ring = ring_all_reduce(3);
  const History history = history_of(ring, {.placement = ir::Placement::kInPlace});
  EXPECT_EQ(history.memory[1].address(ir::Buffer::kInput, 0),
            history.memory[1].address(ir::Buffer::kOutput, 0));
  expect_outputs_as_wanted(history);
  ir::Schedule outside = ring;
  outside.placement = ir::Placement::kOutOfPlace;
  const auto refused = write_history(outside, {.placement = ir::Placement::kInPlace});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("in_place"));
}

TEST(History, StopsAtTheStepThatCountsTwice) {
  ir::Builder b({CollectiveKind::kReduce, 2}, {.name = "twice"});
  ir::LaneWriter root = b.add_lane(Rank{0});
  root.recv_reduce(input(0), output(0), Rank{1});
  root.recv_reduce(output(0), output(0), Rank{1});
  ir::LaneWriter leaf = b.add_lane(Rank{1});
  leaf.send(input(0), Rank{0});
  leaf.send(input(0), Rank{0});
  const History history = history_of(std::move(b).finish());
  ASSERT_TRUE(history.refusal);
  EXPECT_EQ(history.refusal->rule, Rule::kDoubleCount);
  ASSERT_TRUE(history.stopped_by);
  EXPECT_EQ(history.stopped_by->step, (ir::StepRef{0, 1}));
  ASSERT_EQ(history.rounds.size(), 2u);
  EXPECT_EQ(history.never_taken.size(), 1u);
}

TEST(History, OfAMissingContributionGoesToTheEndAndShowsWhatIsThere) {
  ir::Builder b({CollectiveKind::kReduce, 3}, {.name = "forgets"});
  b.add_lane(Rank{0}).recv_reduce(input(0), output(0), Rank{1});
  b.add_lane(Rank{1}).send(input(0), Rank{0});
  b.add_lane(Rank{2});
  const History history = history_of(std::move(b).finish());
  ASSERT_TRUE(history.refusal);
  EXPECT_EQ(history.refusal->rule, Rule::kResult);
  const auto cells = cells_after(history, history.rounds.size());
  EXPECT_NE(cells.at(history.wanted[0].cell), history.wanted[0].value);
  EXPECT_EQ(num_contributions(history, cells.at(history.wanted[0].cell)), 2u);
}

TEST(History, OfADeadlockRunsWhatCanRunAndNamesWhoIsStuck) {
  ir::Builder b({CollectiveKind::kAllGather, 2}, {.name = "polite"});
  for (uint32_t r = 0; r < 2; ++r) {
    ir::LaneWriter lane = b.add_lane(Rank{r});
    lane.copy(input(0), output(r));
    lane.recv(output(1 - r), Rank{1 - r});
    lane.send(input(0), Rank{1 - r});
  }
  const History history = history_of(std::move(b).finish());
  ASSERT_TRUE(history.refusal);
  EXPECT_EQ(history.refusal->rule, Rule::kDeadlock);
  ASSERT_EQ(history.rounds.size(), 1u);
  EXPECT_EQ(history.rounds[0].steps.size(), 2u);
  EXPECT_EQ(history.stuck, (std::vector<StepName>{{Rank{0}, {0, 1}}, {Rank{1}, {0, 1}}}));
}

TEST(History, OfAScheduleWithoutMatchingHasTheReasonAlone) {
  ir::Builder b({CollectiveKind::kBroadcast, 2}, {.name = "deaf"});
  b.add_lane(Rank{0}).send(input(0), Rank{1});
  b.add_lane(Rank{1});
  const History history = history_of(std::move(b).finish());
  ASSERT_TRUE(history.refusal);
  EXPECT_EQ(history.refusal->rule, Rule::kMatching);
  EXPECT_TRUE(history.rounds.empty());
}

TEST(History, OfAChainWithoutMemoryShowsSumsInItsMessages) {
  const History history = history_of(ring_reduce_scatter_without_memory(4));
  // Refused under lending, which has no place for the sums: nothing can run after the first sends.
  ASSERT_TRUE(history.refusal);
  EXPECT_EQ(history.discipline, Discipline::kLending);
  EXPECT_FALSE(history.stuck.empty());
}

TEST(History, OfABarrierIsWhoHasHeardOfWhom) {
  ir::Builder b({CollectiveKind::kBarrier, 3}, {.name = "star"});
  ir::LaneWriter root = b.add_lane(Rank{0});
  for (uint32_t r = 1; r < 3; ++r) root.recv(input(0, 0), Rank{r});
  for (uint32_t r = 1; r < 3; ++r) {
    ir::LaneWriter leaf = b.add_lane(Rank{r});
    leaf.send(input(0, 0), Rank{0});
    leaf.recv(input(0, 0), Rank{0});
    root.send(input(0, 0), Rank{r});
  }
  const History history = history_of(std::move(b).finish());
  EXPECT_FALSE(history.refusal) << history.refusal->message;
  ASSERT_TRUE(history.first_heard);
  expect_outputs_as_wanted(history);
  const auto early = cells_after(history, 2);
  EXPECT_EQ(num_contributions(history, early.at(*history.first_heard)), 2u);
}

TEST(History, IsAsLongAsTheCountOfItsRounds) {
  for (uint32_t p : {1u, 2u, 5u}) {
    const ir::Schedule ring = ring_all_reduce(p);
    EXPECT_EQ(count_rounds(ring).value() + 1, history_of(ring).rounds.size());
  }
}

TEST(History, RefusesToWriteDownMoreThanAsked) {
  HistoryOptions options;
  options.max_held = 10;
  const auto refused = write_history(ring_all_reduce(8), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace tutti::verify
