#include "plan/select.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/simulate.h"
#include "topo/machines.h"
#include "topo/open.h"
#include "topo/variants.h"

namespace tutti::plan {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// A port of 10 GB/s each way a device, 0.5 us from device to device.
topo::Topology switch_of(uint32_t num_ranks) {
  return topo::make_machine("switch:" + std::to_string(num_ranks) + "@10GB/s,500ns").value();
}

constexpr Collective kReduceOf8{.kind = CollectiveKind::kReduce, .num_ranks = 8};

std::vector<std::string> described(const Selection& selection) {
  std::vector<std::string> texts;
  for (const Candidate& candidate : selection.candidates) texts.push_back(describe(candidate));
  return texts;
}

TEST(Select, TakesTheTreeForAShortMessageAndSaysThatLatencyBoundsIt) {
  const Selection selection = select(kReduceOf8, switch_of(8), 8).value();
  EXPECT_EQ(selection.schedule.name, "binomial");
  EXPECT_THAT(selection.why, HasSubstr("binomial takes 1.5 us"));
  EXPECT_THAT(selection.why, HasSubstr("bound by latency"));
  EXPECT_THAT(selection.why, HasSubstr("next is packed, chunks 1"));
}

TEST(Select, TakesThePipelineForALongMessageAndSaysThatBandwidthBoundsIt) {
  const Selection selection = select(kReduceOf8, switch_of(8), 1 << 28).value();
  EXPECT_EQ(selection.schedule.name, "packed");
  EXPECT_THAT(selection.why, HasSubstr("packed, chunks "));
  EXPECT_THAT(selection.why, HasSubstr("next is chain, chunks 32"));
  EXPECT_THAT(selection.why, HasSubstr("bound by bandwidth"));
}

TEST(Select, ListsEveryAlgorithmTheFastestFirst) {
  const Selection selection = select(kReduceOf8, switch_of(8), 1 << 20).value();
  ASSERT_EQ(selection.candidates.size(), 22u)
      << "two, two with six choices of chunks each, and packed with eight";
  EXPECT_TRUE(std::is_sorted(selection.candidates.begin(), selection.candidates.end(),
                             [](const auto& a, const auto& b) { return a.ns < b.ns; }));
  EXPECT_EQ(selection.candidates.front().algorithm->name, selection.schedule.name);
  sim::Options conditions;
  conditions.bytes = 1 << 20;
  EXPECT_EQ(selection.candidates.front().ns,
            sim::simulate(selection.schedule, switch_of(8), conditions).value().total_ns);
}

TEST(Select, PassesConditionsToTheSimulator) {
  SelectOptions slow;
  slow.conditions.step_overhead_ns = 1e6;
  const double ns = select(kReduceOf8, switch_of(8), 8, slow).value().candidates.front().ns;
  EXPECT_GT(ns, 1e6);
}

TEST(Select, GroupsRanksAsTheMachinesDo) {
  topo::Topology topology = topo::make_machine("mesh:8@10GB/s,500ns").value();
  for (uint32_t r = 0; r < 8; ++r) topology.nodes[topology.ranks[r].value].machine = r / 4;
  const Collective all_reduce{.kind = CollectiveKind::kAllReduce, .num_ranks = 8};
  EXPECT_THAT(described(select(all_reduce, topology, 64).value()),
              Contains("two_level, group_size 4"));
  topology.nodes[topology.ranks[2].value].machine = 7;
  EXPECT_THAT(described(select(all_reduce, topology, 64).value()), Contains("two_level"));
}

TEST(Select, SkipsWhatHasTooManyStepsAndSaysSo) {
  SelectOptions options;
  options.max_steps = 40;
  const Selection selection = select(kReduceOf8, switch_of(8), 1 << 28, options).value();
  EXPECT_NE(selection.schedule.chunks_per_block, 32u);
  EXPECT_LE(ir::num_steps(selection.schedule), 40u);
  EXPECT_THAT(selection.candidates.back().skipped, HasSubstr("not tried beyond 40"));
  EXPECT_THAT(selection.why, HasSubstr("not tried"));
}

TEST(Select, FailsWhenNothingCanBeTried) {
  SelectOptions options;
  options.max_steps = 0;
  const auto nothing = select(kReduceOf8, switch_of(8), 8, options);
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(nothing.error().message, HasSubstr("reduce"));
}

// The number of steps of a large schedule is known about right without making it.
TEST(Select, EstimatesTheStepsOfWhatItSkips) {
  const Collective reduce{.kind = CollectiveKind::kReduce, .num_ranks = 200};
  SelectOptions options;
  options.max_steps = 350;
  const Selection selection = select(reduce, switch_of(200), 8, options).value();
  uint32_t num_skipped = 0;
  for (const Candidate& candidate : selection.candidates) {
    if (candidate.skipped.empty() || candidate.algorithm->name == "packed") continue;
    ++num_skipped;
    const auto truth = static_cast<double>(
        ir::num_steps(make(reduce, candidate.algorithm->name, candidate.options).value()));
    EXPECT_GT(static_cast<double>(candidate.num_steps), 0.9 * truth) << describe(candidate);
    EXPECT_LT(static_cast<double>(candidate.num_steps), 1.5 * truth) << describe(candidate);
  }
  EXPECT_EQ(num_skipped, 12u)
      << "reduce_scatter_gather, all pulls, all chains but that of one piece";
}

// A ring of links with one missing: trees that know it beat everything that does not.
TEST(Select, TakesPackedTreesWhereLinksAreUneven) {
  const topo::Topology topology =
      topo::subset(topo::open("dgx-1v").value(), {Rank{0}, Rank{2}, Rank{3}, Rank{4}, Rank{7}})
          .value();
  const Collective broadcast{.kind = CollectiveKind::kBroadcast, .num_ranks = 5};
  const Selection selection = select(broadcast, topology, 1 << 28).value();
  EXPECT_EQ(selection.schedule.name, "packed");
  EXPECT_EQ(selection.candidates.front().algorithm->name, "packed");
}

TEST(Select, SaysWhyPackedTreesAreNotTried) {
  const Collective reduce{.kind = CollectiveKind::kReduce, .num_ranks = 17};
  const Selection selection = select(reduce, switch_of(17), 8).value();
  EXPECT_EQ(selection.candidates.back().algorithm->name, "packed");
  EXPECT_THAT(selection.candidates.back().skipped, HasSubstr("16 ranks"));
}

TEST(Select, HasNothingToMoveForOneRank) {
  const Collective alone{.kind = CollectiveKind::kAllReduce, .num_ranks = 1};
  const Selection selection = select(alone, switch_of(2), 64).value();
  EXPECT_EQ(selection.candidates.front().ns, 0);
  EXPECT_THAT(selection.why, HasSubstr("is as fast"));
}

TEST(Select, ChoosesForEveryCollective) {
  for (int kind = 0; kind < kNumCollectiveKinds; ++kind) {
    const Collective collective{.kind = static_cast<CollectiveKind>(kind), .num_ranks = 5};
    const auto selection = select(collective, switch_of(5), 1000);
    ASSERT_TRUE(selection.ok()) << to_string(collective.kind) << ": " << selection.error().message;
    EXPECT_TRUE(selection->candidates.front().skipped.empty());
    EXPECT_THAT(selection->why, Not(HasSubstr("nan")));
  }
}

TEST(Select, RefusesMoreRanksThanTheMachineHas) {
  const auto refused = select(kReduceOf8, switch_of(4), 8);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("has 4 ranks, and 8 were asked for"));
}

}  // namespace
}  // namespace tutti::plan
