// What check promises apart from its rules: the proof's numbers, the shape of refusals, grammar.
#include "verify/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <type_traits>
#include <utility>

#include "ir/builder.h"
#include "tests/unit/verify/refusal.h"
#include "tests/unit/verify/ring.h"

namespace tutti::verify {
namespace {

using ir::input;
using ir::output;
using ir::Placement;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

static_assert(!std::is_constructible_v<VerifiedSchedule, ir::Schedule>);
static_assert(!std::is_default_constructible_v<VerifiedSchedule>);
static_assert(std::is_copy_constructible_v<VerifiedSchedule>);

TEST(Check, ProvesRingsOfAnyNumberOfRanks) {
  for (uint32_t p : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 13u}) {
    SCOPED_TRACE(p);
    expect_proved(ring_all_reduce(p));
  }
}

TEST(Check, HandsOutTheScheduleThatItProved) {
  const ir::Schedule ring = ring_all_reduce(3);
  const Verdict verdict = check(ring);
  ASSERT_TRUE(verdict.proved());
  EXPECT_EQ(verdict.schedule().schedule(), ring);
  const VerifiedSchedule copy = verdict.schedule();
  EXPECT_EQ(&copy.schedule(), &verdict.schedule().schedule());
}

TEST(Check, SaysWhatItProved) {
  const Verdict verdict = check(ring_all_reduce(4, 3));
  ASSERT_TRUE(verdict.proved());
  EXPECT_EQ(verdict.proof().num_steps, 4u * 7u);
  EXPECT_EQ(verdict.proof().num_messages, 4u * 6u);
  EXPECT_EQ(verdict.proof().slots, 3u);
  EXPECT_EQ(verdict.proof().longest_chain, 7u);
  EXPECT_THAT(verdict.proof().placements, ElementsAre(Placement::kOutOfPlace, Placement::kInPlace));
}

TEST(Check, ProvesLendingAloneWhenThereAreNoSlots) {
  const Verdict verdict = check(ring_all_reduce(4, 0));
  ASSERT_TRUE(verdict.proved());
  EXPECT_EQ(verdict.proof().slots, 0u);
}

TEST(Check, ProvesThePlacementThatIsClaimed) {
  for (Placement placement : {Placement::kOutOfPlace, Placement::kInPlace}) {
    ir::Schedule ring = ring_all_reduce(3);
    ring.placement = placement;
    const Verdict verdict = check(std::move(ring));
    ASSERT_TRUE(verdict.proved());
    EXPECT_THAT(verdict.proof().placements, ElementsAre(placement));
  }
}

ir::Schedule swap_of_two(Placement placement) {
  ir::Builder b({CollectiveKind::kAllToAll, 2}, {.name = "direct", .placement = placement});
  for (uint32_t r = 0; r < 2; ++r) {
    ir::LaneWriter lane = b.add_lane(Rank{r});
    lane.copy(input(r), output(r));
    lane.send(input(1 - r), Rank{1 - r});
    lane.recv(output(1 - r), Rank{1 - r});
  }
  return std::move(b).finish();
}

TEST(Check, TakesEitherToMeanOutOfPlaceWhereThereIsNoInPlace) {
  const Verdict verdict = check(swap_of_two(Placement::kEither));
  ASSERT_TRUE(verdict.proved()) << verdict.refusal().message;
  EXPECT_THAT(verdict.proof().placements, ElementsAre(Placement::kOutOfPlace));
}

TEST(Check, RefusesInPlaceWhereThereIsNone) {
  const Refusal refusal = refusal_of(swap_of_two(Placement::kInPlace));
  EXPECT_EQ(refusal.rule, Rule::kShape);
  EXPECT_EQ(
      refusal.message,
      "shape: all_to_all has no in-place form; the schedule can only claim to be out of place");
}

TEST(Check, RefusesABadShapeWithItsPlace) {
  ir::Schedule ring = ring_all_reduce(3);
  ring.ranks[1].lanes[0].steps[2].src_index = 3;
  const Refusal refusal = refusal_of(ring);
  EXPECT_EQ(refusal.rule, Rule::kShape);
  EXPECT_TRUE(refusal.has_step);
  EXPECT_EQ(refusal.rank, Rank{1});
  EXPECT_EQ(refusal.step, (ir::StepRef{0, 2}));
  EXPECT_THAT(refusal.message, HasSubstr("shape: rank 1 lane 0 step 2: "));
  EXPECT_EQ(check(ring).result().error().code, ErrorCode::kMalformed);
}

TEST(Check, RefusesAMessageThatNobodyTakes) {
  ir::Schedule ring = ring_all_reduce(3);
  ring.ranks[1].lanes[0].steps.pop_back();
  const Refusal refusal = refusal_of(ring);
  EXPECT_EQ(refusal.rule, Rule::kMatching);
  EXPECT_THAT(refusal.message, HasSubstr("matching: rank 0 lane 0 step 3 sends"));
  EXPECT_EQ(check(ring).result().error().code, ErrorCode::kMalformed);
}

TEST(Check, RefusesAMessageOfAnotherLength) {
  ir::Builder b({CollectiveKind::kBroadcast, 2}, {.name = "direct", .chunks_per_block = 2});
  ir::LaneWriter root = b.add_lane(Rank{0});
  root.copy(input(0, 2), output(0, 2));
  root.send(input(0, 2), Rank{1});
  b.add_lane(Rank{1}).recv(output(0, 1), Rank{0});
  EXPECT_EQ(refusal_of(std::move(b).finish()).rule, Rule::kMatching);
}

TEST(Check, GivesAnErrorToThoseWhoOnlyPassItUp) {
  ir::Schedule ring = ring_all_reduce(3);
  ring.ranks[0].lanes[0].steps[0].src_index = 1;
  const Result<VerifiedSchedule> result = check(ring).result();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kRefused);
  EXPECT_EQ(result.error().message, check(ring).refusal().message);
  EXPECT_TRUE(check(ring_all_reduce(3)).result().ok());
}

TEST(Check, NamesItsRules) {
  EXPECT_EQ(to_string(Rule::kShape), "shape");
  EXPECT_EQ(to_string(Rule::kDoubleCount), "double_count");
  EXPECT_EQ(to_string(Rule::kBarrier), "barrier");
  EXPECT_EQ(to_string(Discipline::kLending), "lending");
  EXPECT_EQ(to_string(Discipline::kSlots), "slots");
}

// A signal has no region; blank is input(0, 0).
ir::Schedule dissemination(uint32_t p, uint32_t num_rounds) {
  ir::Builder b({CollectiveKind::kBarrier, p}, {.name = "dissemination"});
  for (uint32_t r = 0; r < p; ++r) {
    ir::LaneWriter lane = b.add_lane(Rank{r});
    for (uint32_t round = 0; round < num_rounds; ++round) {
      const uint32_t distance = 1u << round;
      lane.send(input(0, 0), Rank{(r + distance) % p});
      lane.recv(input(0, 0), Rank{(r + p - distance) % p});
    }
  }
  return std::move(b).finish();
}

TEST(Barrier, IsProvedWhenEveryRankHearsFromAll) {
  expect_proved(dissemination(5, 3));
  expect_proved(dissemination(8, 3));
  ir::Builder alone({CollectiveKind::kBarrier, 1}, {.name = "nothing"});
  const Verdict verdict = check(std::move(alone).finish());
  ASSERT_TRUE(verdict.proved());
  EXPECT_THAT(verdict.proof().placements, IsEmpty());
}

TEST(Barrier, IsRefusedWhenARankCanLeaveEarly) {
  const Refusal refusal = refusal_of(dissemination(5, 2));
  EXPECT_EQ(refusal.rule, Rule::kBarrier);
  EXPECT_EQ(refusal.rank, Rank{0});
  EXPECT_EQ(refusal.message,
            "barrier: rank 0 can leave under lending before rank 1 entered: no chain of messages "
            "leads from there to its last step");
}

TEST(Barrier, IsRefusedWhenARankDoesNothing) {
  ir::Schedule schedule = dissemination(2, 1);
  for (auto& program : schedule.ranks) program.lanes.clear();
  EXPECT_EQ(refusal_of(schedule).rule, Rule::kBarrier);
}

}  // namespace
}  // namespace tutti::verify
