#include "plan/select.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "plan/packed.h"
#include "sim/simulate.h"
#include "topo/build.h"
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

TEST(Select, TakesTheFewestStepsForAShortMessageAndSaysThatLatencyBoundsIt) {
  const Selection selection = select(kReduceOf8, switch_of(8), 8).value();
  EXPECT_EQ(selection.schedule.name, "steps");
  EXPECT_THAT(selection.why, HasSubstr("steps, chunks 1 takes 506 ns"));
  EXPECT_THAT(selection.why, HasSubstr("bound by latency"));
  EXPECT_THAT(selection.why, HasSubstr("next is binomial with 1.5 us"));
}

TEST(Select, TakesThePipelineForALongMessageAndSaysThatBandwidthBoundsIt) {
  const Selection selection = select(kReduceOf8, switch_of(8), 1 << 28).value();
  EXPECT_EQ(selection.schedule.name, "packed");
  EXPECT_THAT(selection.why, HasSubstr("packed, chunks "));
  EXPECT_THAT(selection.why, HasSubstr("next is rings, chunks "));
  EXPECT_THAT(selection.why, HasSubstr("bound by bandwidth"));
}

TEST(Select, ListsEveryAlgorithmTheFastestFirst) {
  const Selection selection = select(kReduceOf8, switch_of(8), 1 << 20).value();
  ASSERT_EQ(selection.candidates.size(), 26u)
      << "three, two with six choices of chunks each, packed with eight, quick, rings and greedy";
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
    if (candidate.skipped.empty() || needs_topology(candidate.algorithm->name)) continue;
    ++num_skipped;
    const auto truth = static_cast<double>(
        ir::num_steps(make(reduce, candidate.algorithm->name, candidate.options).value()));
    EXPECT_GT(static_cast<double>(candidate.num_steps), 0.9 * truth) << describe(candidate);
    EXPECT_LT(static_cast<double>(candidate.num_steps), 1.5 * truth) << describe(candidate);
  }
  EXPECT_EQ(num_skipped, 13u)
      << "reduce_scatter_gather, spread, all pulls, all chains but that of one piece";
}

// A ring of links with one missing: trees that know it beat everything that does not.
TEST(Select, TakesPackedTreesWhereLinksAreUneven) {
  const topo::Topology topology =
      topo::subset(topo::open("dgx-1v").value(), {Rank{0}, Rank{2}, Rank{3}, Rank{4}, Rank{7}})
          .value();
  const Collective broadcast{.kind = CollectiveKind::kBroadcast, .num_ranks = 5};
  const Selection selection = select(broadcast, topology, 1 << 28).value();
  // And with PCIe, which they leave idle, they are faster still.
  EXPECT_EQ(selection.schedule.name, "mixed");
  EXPECT_EQ(selection.candidates[0].algorithm->name, "mixed");
  EXPECT_EQ(selection.candidates[1].algorithm->name, "packed");
}

TEST(Select, SaysWhyPackedTreesAreNotTried) {
  const Collective reduce{.kind = CollectiveKind::kReduce, .num_ranks = 17};
  const Selection selection = select(reduce, switch_of(17), 8).value();
  EXPECT_EQ(selection.candidates.back().algorithm->name, "packed");
  EXPECT_THAT(selection.candidates.back().skipped, HasSubstr("16 ranks"));
}

// all_to_all has no packed trees; on a ring of cables what knows the cables wins.
TEST(Select, TriesGreedySchedulesWherePackedTreesAreNot) {
  const Collective all_to_all{.kind = CollectiveKind::kAllToAll, .num_ranks = 9};
  const Selection selection = select(all_to_all, topo::open("torus:3x3").value(), 1 << 24).value();
  EXPECT_EQ(selection.schedule.name, "greedy");
  const Collective all_gather{.kind = CollectiveKind::kAllGather, .num_ranks = 18};
  const Selection on_torus = select(all_gather, topo::open("torus:3x6").value(), 1 << 20).value();
  EXPECT_THAT(described(on_torus), Contains(HasSubstr("greedy")));
  EXPECT_THAT(described(on_torus), Contains(HasSubstr("rings")));
}

// Three in a row: no message goes from one end to the other, so half of the catalogue cannot run.
TEST(Select, TakesWhatCanRunWhereSomeRanksHaveNoRoute) {
  topo::Topology row;
  row.name = "row";
  for (const char* name : {"a", "b", "c"}) topo::add_rank(row, name, 0);
  const topo::Wire wire = {topo::LinkClass::kNvlink, 25, 700};
  topo::connect(row, row.ranks[0], row.ranks[1], wire);
  topo::connect(row, row.ranks[1], row.ranks[2], wire);
  for (const CollectiveKind kind :
       {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kAllToAll}) {
    SCOPED_TRACE(to_string(kind));
    const auto selection = select({.kind = kind, .num_ranks = 3}, row, 1 << 20);
    ASSERT_TRUE(selection.ok()) << selection.error().message;
    EXPECT_TRUE(needs_topology(selection->schedule.name));
    EXPECT_TRUE(
        std::any_of(selection->candidates.begin(), selection->candidates.end(),
                    [](const Candidate& each) { return each.skipped.starts_with("no route"); }));
  }
}

TEST(Select, SaysWhichRanksCannotReachEachOther) {
  topo::Topology islands;
  islands.name = "islands";
  for (const char* name : {"a", "b", "c"}) topo::add_rank(islands, name, 0);
  const topo::Wire wire = {topo::LinkClass::kNvlink, 25, 700};
  topo::connect(islands, islands.ranks[0], islands.ranks[1], wire);
  const auto refused = select({.kind = CollectiveKind::kAllReduce, .num_ranks = 3}, islands, 8);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("a (rank 0) cannot reach c (rank 2)"));
}

TEST(Select, TriesGreedySchedulesAndQuickTreesBesidePackedTrees) {
  const Collective all_gather{.kind = CollectiveKind::kAllGather, .num_ranks = 8};
  const Selection selection = select(all_gather, topo::open("dgx-1v").value(), 1 << 20).value();
  const std::vector<std::string> names = described(selection);
  for (const char* name : {"greedy", "quick", "packed"}) {
    EXPECT_TRUE(std::any_of(names.begin(), names.end(),
                            [&](const std::string& text) { return text.starts_with(name); }));
  }
}

// Rank numbers know nothing of NVLinks: 6 rings along these carry what one in rank order does not.
TEST(Select, TriesRingsAlongLinks) {
  const Collective all_reduce{.kind = CollectiveKind::kAllReduce, .num_ranks = 8};
  const Selection selection = select(all_reduce, topo::open("dgx-1v").value(), 1 << 26).value();
  double along_links = 0;
  double by_number = 0;
  for (const Candidate& candidate : selection.candidates) {
    if (candidate.algorithm->name == "rings") along_links = candidate.ns;
    if (candidate.algorithm->name == "ring" && by_number == 0) by_number = candidate.ns;
  }
  ASSERT_GT(along_links, 0);
  EXPECT_GT(by_number, 5 * along_links);
}

TEST(Select, TriesTheFewestStepsForShortMessagesOfFewRanks) {
  const auto tries_steps = [](uint32_t ranks, uint64_t bytes) {
    const Collective all_reduce{.kind = CollectiveKind::kAllReduce, .num_ranks = ranks};
    const Selection selection = select(all_reduce, switch_of(ranks), bytes).value();
    const std::vector<std::string> names = described(selection);
    return std::any_of(names.begin(), names.end(),
                       [](const std::string& text) { return text.starts_with("steps"); });
  };
  EXPECT_TRUE(tries_steps(6, 1024));
  EXPECT_FALSE(tries_steps(6, 1 << 20));
  EXPECT_FALSE(tries_steps(17, 1024));
  const Collective all_reduce{.kind = CollectiveKind::kAllReduce, .num_ranks = 8};
  const Selection best = select(all_reduce, topo::open("dgx-1v").value(), 64).value();
  EXPECT_EQ(best.schedule.name, "steps") << "two hops; trees go up and down";
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
