// The faults that the rules are for, by name. Each is refused by the rule it names, and with that
// rule left out nothing else finds it: no rule is there twice, and none could be taken away.
// Shape and matching cannot be left out, since no other question has a meaning without them.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/builder.h"
#include "tests/mutants/draft.h"
#include "tests/mutants/explorer.h"
#include "tests/mutants/small_schedules.h"
#include "verify/prove.h"

namespace tutti::mutants {
namespace {

using namespace ir;
using verify::Rule;

struct NamedMutant {
  std::string name;
  Rule rule;
  Schedule original;
  std::function<void(Draft&)> damage;
};

Schedule small_reduce(uint32_t num_ranks, Placement placement = Placement::kEither) {
  Builder b({CollectiveKind::kReduce, num_ranks},
            {.name = "star", .chunks_per_block = 2, .placement = placement});
  LaneWriter root = b.add_lane(Rank{0});
  for (uint32_t r = 1; r < num_ranks; ++r) {
    LaneWriter leaf = b.add_lane(Rank{r});
    for (uint32_t c = 0; c < 2; ++c) {
      leaf.send(input(c), Rank{0});
      root.recv_reduce(r == 1 ? input(c) : output(c), output(c), Rank{r});
    }
  }
  return std::move(b).finish();
}

// A star whose root adds through scratch that is set to its own contribution first.
Schedule reduce_through_scratch() {
  Builder b({CollectiveKind::kReduce, 2}, {.name = "scratch"});
  b.add_scratch(Rank{0}, ChunkId{0});
  b.add_scratch(Rank{0}, ChunkId{0});
  LaneWriter root = b.add_lane(Rank{0});
  root.copy(input(0), scratch(0));
  root.recv_reduce(scratch(0), scratch(1), Rank{1});
  root.copy(scratch(1), output(0));
  b.add_lane(Rank{1}).send(input(0), Rank{0});
  return std::move(b).finish();
}

// The root takes from each of the others in a lane of its own; one lane after the other.
Schedule reduce_in_two_lanes() {
  Builder b({CollectiveKind::kReduce, 3}, {.name = "lanes"});
  const StepRef first = b.add_lane(Rank{0}, 0).recv_reduce(input(0), output(0), Rank{1});
  b.add_lane(Rank{0}, 1).recv_reduce(output(0), output(0), Rank{2}, {first});
  b.add_lane(Rank{1}, 0).send(input(0), Rank{0});
  b.add_lane(Rank{2}, 1).send(input(0), Rank{0});
  return std::move(b).finish();
}

Step& step(Draft& draft, uint32_t rank, uint32_t lane, uint32_t index) {
  return draft.ranks[rank][lane].steps[index].step;
}

void erase(Draft& draft, uint32_t rank, uint32_t lane, uint32_t index) {
  auto& steps = draft.ranks[rank][lane].steps;
  steps.erase(steps.begin() + index);
}

std::vector<NamedMutant> deadlocks() {
  return {
      {"full_slots_close_a_cycle", Rule::kDeadlock, sending_ahead(3, 3),
       [](Draft& d) { d.head.slots = 2; }},
      {"both_receive_first", Rule::kDeadlock, sending_ahead(1, 1),
       [](Draft& d) {
         for (auto& lanes : d.ranks) std::swap(lanes[0].steps[0], lanes[0].steps[2]);
       }},
      {"one_sum_of_a_ring_is_kept_nowhere_and_waits_for_its_taker", Rule::kDeadlock,
       ring_all_reduce(),
       [](Draft& d) {
         for (uint32_t r = 0; r < 3; ++r) step(d, r, 0, 1).kind = StepKind::kRecvReduceSend;
       }},
      {"a_recv_waits_until_its_own_send_was_taken", Rule::kDeadlock, exchange_all_reduce(),
       [](Draft& d) {
         for (auto& lanes : d.ranks) lanes[0].steps[1].after = {lanes[0].steps[0].id};
       }},
      {"two_lanes_depend_on_each_other", Rule::kDeadlock, reduce_in_lanes(),
       [](Draft& d) { d.ranks[0][0].steps[0].after = {d.ranks[0][2].steps[1].id}; }},
  };
}

std::vector<NamedMutant> hazards() {
  return {
      {"lent_scratch_is_overwritten", Rule::kHazard, staged_broadcast(),
       [](Draft& d) { d.ranks[0][0].steps[3].after.clear(); }},
      {"two_lanes_add_to_one_output_without_order", Rule::kHazard, reduce_in_two_lanes(),
       [](Draft& d) { d.ranks[0][1].steps[0].after.clear(); }},
      {"in_place_the_output_is_an_input_still_lent", Rule::kHazard, exchange_all_reduce(),
       [](Draft& d) { d.ranks[0][0].steps[2].after.clear(); }},
  };
}

std::vector<NamedMutant> values() {
  return {
      {"an_operand_was_never_written", Rule::kUninitialised, reduce_through_scratch(),
       [](Draft& d) {
         // The root's own contribution goes in by another way, so that only the read is wrong.
         step(d, 0, 0, 0).dst_index = 1;
         step(d, 0, 0, 1).dst_index = 0;
         step(d, 0, 0, 2).kind = StepKind::kReduce;
         step(d, 0, 0, 2).src_index = 0;
         step(d, 0, 0, 2).dst_buffer = Buffer::kScratch;
         step(d, 0, 0, 2).dst_index = 1;
         DraftStep keep = d.ranks[0][0].steps[2];
         keep.id = d.next_id++;
         keep.step.kind = StepKind::kCopy;
         keep.step.src_index = 1;
         keep.step.dst_buffer = Buffer::kOutput;
         keep.step.dst_index = 0;
         d.ranks[0][0].steps.push_back(keep);
       }},
      {"the_sum_is_put_into_the_input", Rule::kStrayWrite, exchange_all_reduce(),
       [](Draft& d) {
         step(d, 0, 0, 2).dst_buffer = Buffer::kInput;
         DraftStep keep = d.ranks[0][0].steps[2];
         keep.id = d.next_id++;
         keep.after.clear();
         keep.step.src_buffer = Buffer::kInput;
         keep.step.dst_buffer = Buffer::kOutput;
         d.ranks[0][0].steps.push_back(keep);
       }},
      {"scratch_is_sized_for_another_chunk", Rule::kFit, staged_broadcast(),
       [](Draft& d) { d.head.ranks[0].scratch[0] = ChunkId{0}; }},
      {"chunks_are_off_by_one", Rule::kMixedChunks, small_reduce(2, Placement::kOutOfPlace),
       [](Draft& d) { std::swap(step(d, 0, 0, 0).src_index, step(d, 0, 0, 1).src_index); }},
      {"a_contribution_is_reduced_twice", Rule::kDoubleCount, small_reduce(3),
       [](Draft& d) {
         DraftStep send = d.ranks[1][0].steps[1];
         DraftStep add = d.ranks[0][0].steps[1];
         send.id = d.next_id++;
         add.id = d.next_id++;
         add.step.src_buffer = Buffer::kOutput;
         d.ranks[1][0].steps.push_back(send);
         d.ranks[0][0].steps.push_back(add);
       }},
      {"a_message_is_dropped", Rule::kResult, small_reduce(3),
       [](Draft& d) {
         erase(d, 2, 0, 1);
         erase(d, 0, 0, 3);
       }},
      {"the_last_copy_is_dropped", Rule::kResult, exchange_all_reduce(),
       [](Draft& d) { erase(d, 1, 0, 2); }},
      {"a_sum_is_replaced_instead_of_added_to", Rule::kResult, small_reduce(3),
       [](Draft& d) { step(d, 0, 0, 2).kind = StepKind::kRecv; }},
      {"a_round_of_the_barrier_is_missing", Rule::kBarrier, barrier(),
       [](Draft& d) {
         for (auto& lanes : d.ranks) lanes[0].steps.resize(2);
       }},
  };
}

std::vector<NamedMutant> grammar() {
  return {
      {"the_root_is_another", Rule::kShape, chain_reduce(),
       [](Draft& d) { d.head.collective.root = 0; }},
      {"an_index_is_one_too_far", Rule::kShape, ring_all_reduce(),
       [](Draft& d) { step(d, 2, 0, 1).src_index = 3; }},
      {"all_to_all_claims_to_work_in_place", Rule::kShape, swap_blocks(),
       [](Draft& d) { d.head.placement = Placement::kInPlace; }},
      {"peers_are_swapped", Rule::kMatching, ring_all_reduce(),
       [](Draft& d) { std::swap(step(d, 1, 0, 1).send_peer, step(d, 1, 0, 1).recv_peer); }},
      {"a_recv_is_dropped", Rule::kMatching, ring_all_reduce(),
       [](Draft& d) { erase(d, 1, 0, 4); }},
      {"a_message_is_longer_than_its_recv", Rule::kMatching, sending_ahead(2, 2),
       [](Draft& d) { step(d, 0, 0, 0).num_chunks = 2; }},
  };
}

std::vector<NamedMutant> all_mutants() {
  std::vector<NamedMutant> list;
  for (auto group : {deadlocks(), hazards(), values(), grammar()}) {
    for (NamedMutant& mutant : group) list.push_back(std::move(mutant));
  }
  return list;
}

Schedule damaged(const NamedMutant& mutant) {
  Draft draft(mutant.original);
  mutant.damage(draft);
  return draft.to_schedule();
}

class Named : public testing::TestWithParam<NamedMutant> {};

TEST_P(Named, OriginalIsProved) {
  const auto outcome = verify::prove(GetParam().original, verify::RuleSet::all());
  const auto* refusal = std::get_if<verify::Refusal>(&outcome);
  EXPECT_EQ(refusal, nullptr) << refusal->message;
}

TEST_P(Named, MutantIsRefusedByItsRule) {
  const auto outcome = verify::prove(damaged(GetParam()), verify::RuleSet::all());
  const auto* refusal = std::get_if<verify::Refusal>(&outcome);
  ASSERT_NE(refusal, nullptr);
  EXPECT_EQ(refusal->rule, GetParam().rule) << refusal->message;
}

TEST_P(Named, MutantIsRefusedByNoOtherRule) {
  const Rule rule = GetParam().rule;
  if (rule == Rule::kShape || rule == Rule::kMatching) return;
  const auto outcome = verify::prove(damaged(GetParam()), verify::RuleSet::all_but(rule));
  const auto* refusal = std::get_if<verify::Refusal>(&outcome);
  EXPECT_EQ(refusal, nullptr) << refusal->message;
}

// A fault that no run shows would make the rule a matter of taste.
TEST_P(Named, MutantGoesWrongInSomeRun) {
  const Rule rule = GetParam().rule;
  if (rule == Rule::kShape || rule == Rule::kMatching) return;
  const Schedule schedule = damaged(GetParam());
  bool goes_wrong = false;
  for (bool in_place : {false, true}) {
    for (auto movement : {Movement::kLendingLate, Movement::kLendingEarly, Movement::kSlots}) {
      const auto result = explore(schedule, {movement, in_place, schedule.slots});
      ASSERT_TRUE(result.complete);
      goes_wrong = goes_wrong || result.fault.has_value();
    }
  }
  EXPECT_TRUE(goes_wrong);
}

INSTANTIATE_TEST_SUITE_P(Mutants, Named, testing::ValuesIn(all_mutants()),
                         [](const auto& of) { return of.param.name; });

TEST(NamedMutants, EveryRuleHasOne) {
  for (int i = 0; i < verify::kNumRules; ++i) {
    const auto rule = static_cast<Rule>(i);
    const auto list = all_mutants();
    const bool has_one = std::any_of(list.begin(), list.end(),
                                     [rule](const NamedMutant& m) { return m.rule == rule; });
    EXPECT_TRUE(has_one) << to_string(rule);
  }
}

}  // namespace
}  // namespace tutti::mutants
