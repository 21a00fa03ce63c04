// Greedy schedules: right on any topology, near the bound on known ones, and what is refused.
#include "plan/synth/greedy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "plan/packing/pack.h"
#include "plan/synth/greedy_network.h"
#include "plan/synth/greedy_plan.h"
#include "tests/unit/greedy/random_topology.h"
#include "tests/unit/plan/expect_proved.h"
#include "topo/variants.h"

namespace tutti::plan::synth {
namespace {

using ::testing::HasSubstr;

constexpr CollectiveKind kServedByGreedy[] = {
    CollectiveKind::kAllGather, CollectiveKind::kReduceScatter, CollectiveKind::kAllReduce,
    CollectiveKind::kAllToAll,  CollectiveKind::kBroadcast,     CollectiveKind::kReduce};

GreedyOptions of(uint64_t bytes, uint32_t chunks) {
  GreedyOptions options;
  options.bytes = bytes;
  options.chunks = chunks;
  return options;
}

uint32_t root_for(CollectiveKind kind, uint32_t num_ranks) {
  return is_rooted(kind) ? num_ranks / 2 : 0;
}

void expect_all_right(const topo::Topology& topology, GreedyOptions options) {
  const uint32_t p = topology.num_ranks();
  for (const CollectiveKind kind : kServedByGreedy) {
    for (const Turns turns : {Turns::kLanes, Turns::kWindow}) {
      SCOPED_TRACE(fmt::format("{} on {}, {} ranks, {}", to_string(kind), topology.name, p,
                               turns == Turns::kLanes ? "lanes" : "windows"));
      options.turns = turns;
      const auto made = make_greedy({kind, p, root_for(kind, p)}, topology, options);
      ASSERT_TRUE(made.ok()) << made.error().message;
      expect_proved_and_right(made->schedule);
    }
  }
}
void expect_all_right(const topo::Topology& topology, uint64_t bytes, uint32_t chunks) {
  expect_all_right(topology, of(bytes, chunks));
}

TEST(Greedy, IsProvedAndRightOnRandomTopologies) {
  const char* const given = std::getenv("TUTTI_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 20261118;
  SCOPED_TRACE(fmt::format("TUTTI_SEED={}", seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 40; ++i) {
    const auto num_ranks = static_cast<uint32_t>(2 + random() % 12);
    const topo::Topology topology = random_topology(num_ranks, random);
    expect_all_right(topology, random() % 2 == 0 ? 64 : 1 << 22,
                     static_cast<uint32_t>(1 + random() % 3));
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

TEST(Greedy, IsProvedAndRightWithAnyNumberOfMessagesUnderWay) {
  for (const uint32_t lanes : {1u, 2u, 5u}) {
    GreedyOptions options = of(1 << 16, 3);
    options.lanes = lanes;
    expect_all_right(machine("dgx-1v"), options);
    expect_all_right(machine("ring:5"), options);
  }
}

TEST(Greedy, IsProvedAndRightOnMachinesAndShapes) {
  for (const char* const name : {"ring:2", "ring:5", "torus:3x3", "grid:3x4", "mesh:4", "switch:7",
                                 "dgx-1v", "dgx-2", "ndv2*2", "rail:dgx-a100*2"}) {
    expect_all_right(machine(name), 1 << 20, 2);
  }
}

TEST(Greedy, HasPeersOfSomeDistancesAroundALargeSwitch) {
  const auto made =
      make_greedy({CollectiveKind::kAllGather, 80}, machine("switch:80"), of(1 << 20, 1));
  ASSERT_TRUE(made.ok());
  expect_proved(made->schedule);
}

TEST(Greedy, CopiesForOneRank) {
  for (const CollectiveKind kind : kServedByGreedy) {
    const auto made = make_greedy({kind, 1}, machine("switch:1"), of(64, 1));
    ASSERT_TRUE(made.ok()) << made.error().message;
    expect_proved_and_right(made->schedule);
  }
}

TEST(Greedy, IsTheSameForTheSameSeed) {
  const topo::Topology topology = machine("torus:4x4");
  const Collective all_reduce{CollectiveKind::kAllReduce, 16};
  GreedyOptions options = of(1 << 20, 2);
  const ir::Schedule once = make_greedy(all_reduce, topology, options).value().schedule;
  EXPECT_EQ(make_greedy(all_reduce, topology, options).value().schedule, once);
  options.seed = 2;
  EXPECT_NE(make_greedy(all_reduce, topology, options).value().schedule, once);
}

TEST(Greedy, CountsTheMessagesThatItWrites) {
  const topo::Topology topology = machine("dgx-1v");
  for (const CollectiveKind kind : kServedByGreedy) {
    const Collective collective{kind, 8};
    const auto count = count_greedy(collective, topology, of(1 << 20, 2)).value();
    const auto made = make_greedy(collective, topology, of(1 << 20, 2)).value();
    uint64_t num_sends = 0;
    for (const ir::RankProgram& program : made.schedule.ranks) {
      num_sends += num_messages_sent(program);
    }
    EXPECT_EQ(count.num_messages, num_sends) << to_string(kind);
    EXPECT_EQ(count.planned_ns, made.planned_ns);
  }
}

// What all_gather takes, by simulation, over the exact bound of the links it uses.
double all_gather_to_bound(const std::string& name) {
  const topo::Topology topology = machine(name);
  const Collective all_gather{CollectiveKind::kAllGather, topology.num_ranks()};
  constexpr uint64_t kBytes = 1u << 28;
  const GreedyPlan plan = plan_greedy(all_gather, topology, of(kBytes, 0)).value();
  const double gbps = packing::pack(all_gather, topology).value().bound_gbps;
  return plan.simulated_ns * gbps / kBytes;
}

TEST(GreedyQuality, AllGatherIsNearTheExactBound) {
  EXPECT_LT(all_gather_to_bound("ring:8"), 1.02);
  EXPECT_LT(all_gather_to_bound("mesh:8"), 1.02);
  EXPECT_LT(all_gather_to_bound("torus:4x4"), 1.05);
  EXPECT_LT(all_gather_to_bound("dgx-1v"), 1.10);
  EXPECT_LT(all_gather_to_bound("dgx-2"), 1.02);
  EXPECT_LT(all_gather_to_bound("ndv2*2"), 1.10);
}

double to_bound(CollectiveKind kind, const std::string& name) {
  const topo::Topology topology = machine(name);
  const GreedyPlan plan =
      plan_greedy({kind, topology.num_ranks()}, topology, of(1u << 28, 0)).value();
  EXPECT_GE(plan.simulated_ns, plan.bound_ns * (1 - 1e-9)) << name;
  return plan.simulated_ns / plan.bound_ns;
}

TEST(GreedyQuality, AllToAllIsNearItsBound) {
  EXPECT_LT(to_bound(CollectiveKind::kAllToAll, "mesh:8"), 1.02);
  EXPECT_LT(to_bound(CollectiveKind::kAllToAll, "ring:8"), 1.05);
  EXPECT_LT(to_bound(CollectiveKind::kAllToAll, "torus:4x4"), 1.2);
  EXPECT_LT(to_bound(CollectiveKind::kAllToAll, "switch:16"), 1.02);
  EXPECT_LT(to_bound(CollectiveKind::kAllToAll, "dgx-1v"), 1.6);
  EXPECT_LT(to_bound(CollectiveKind::kAllToAll, "ndv2*2"), 1.02);
  EXPECT_LT(to_bound(CollectiveKind::kAllToAll, "dgx-2*2"), 1.10);
}

TEST(GreedyQuality, SumsAreNearTheirBoundOnShapes) {
  EXPECT_LT(to_bound(CollectiveKind::kReduceScatter, "ring:8"), 1.02);
  EXPECT_LT(to_bound(CollectiveKind::kReduceScatter, "torus:4x4"), 1.10);
  EXPECT_LT(to_bound(CollectiveKind::kAllReduce, "ring:8"), 1.02);
  EXPECT_LT(to_bound(CollectiveKind::kAllReduce, "torus:4x4"), 1.10);
}

TEST(GreedyRefuses, RanksThatCannotReachEachOther) {
  topo::Topology topology = machine("mesh:2");
  topology.links.pop_back();
  const auto refused = make_greedy({CollectiveKind::kAllGather, 2}, topology, of(64, 1));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("dev1 (rank 1) cannot reach dev0 (rank 0)"));
}

TEST(GreedyRefuses, LinksWithoutRate) {
  topo::Topology topology = machine("mesh:2");
  topology.links[0].gbps = 0;
  const auto refused = make_greedy({CollectiveKind::kAllGather, 2}, topology, of(64, 1));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("dev0"));
  topology.links[0].gbps = 1e-9;
  EXPECT_EQ(make_greedy({CollectiveKind::kAllGather, 2}, topology, of(64, 1)).error().code,
            ErrorCode::kUnsupported);
}

TEST(GreedyRefuses, TwoRanksOnOneDevice) {
  topo::Topology topology = machine("mesh:2");
  topology.ranks.push_back(topology.ranks[1]);
  const auto refused = make_greedy({CollectiveKind::kAllGather, 3}, topology, of(64, 1));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("rank 2 shares dev1"));
}

TEST(GreedyRefuses, ACollectiveThatItDoesNotMake) {
  const auto refused = make_greedy({CollectiveKind::kBarrier, 2}, machine("mesh:2"), of(0, 1));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
}

TEST(GreedyRefuses, MoreStepsThanAScheduleHoldsBeforeItBegins) {
  const auto refused =
      make_greedy({CollectiveKind::kAllGather, 10'000}, machine("torus:100x100"), of(1 << 20, 1));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("2e+08 steps"));
}

// In 34 chunks what everyone sends alone would fit; not what is passed on between places of
// machines.
TEST(GreedyRefuses, MoreMessagesThanAScheduleHoldsBeforeItLooksForWays) {
  const topo::Topology rails = machine("rail:dgx-h100*129");
  const Collective all_to_all{CollectiveKind::kAllToAll, rails.num_ranks()};
  EXPECT_LE(num_greedy_steps(all_to_all, 34), ir::kMaxSteps);
  GreedyOptions options = of(1 << 20, 34);
  bool has_begun = false;
  options.progress = [&](double) { return !(has_begun = true); };
  const auto refused = make_greedy(all_to_all, rails, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_FALSE(has_begun);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("needs 6.8e+07 messages or more here"));
  EXPECT_THAT(refused.error().message, HasSubstr("at most 6.7e+07"));
}

// Those of the same machine and the same place of the others are one hop away, all others two.
TEST(GreedyRefuses, ByABoundThatIsWhatRailsNeed) {
  const topo::Topology rails = machine("rail:dgx-h100*129");
  const uint64_t p = rails.num_ranks();
  EXPECT_EQ(least_deliveries(rails), 2 * p * (p - 1) - p * (7 + 128));
  EXPECT_EQ(least_deliveries(machine("rail:dgx-h100*2")), 16u * 15u);  // small: not looked at
  for (const char* const name : {"rail:dgx-h100*2", "rail:dgx-h100*5", "torus:4x4"}) {
    const topo::Topology topology = machine(name);
    const Collective all_to_all{CollectiveKind::kAllToAll, topology.num_ranks()};
    const uint64_t all = uint64_t{2} * topology.num_ranks() * (topology.num_ranks() - 1);
    const uint64_t least = all - network_of(topology, Reach::kAll).value().hops.size();
    const auto count = count_greedy(all_to_all, topology, of(1 << 20, 1)).value();
    if (name[0] == 'r') {
      EXPECT_EQ(count.num_messages, least) << name;
    } else {
      EXPECT_GT(count.num_messages, least) << name;
    }
  }
}

TEST(GreedyRefuses, ToGoOnWhenItIsTold) {
  GreedyOptions options = of(1 << 20, 1);
  options.progress = [](double) { return false; };
  const auto stopped =
      make_greedy({CollectiveKind::kAllGather, 300}, machine("torus:15x20"), options);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kAborted);
}

}  // namespace
}  // namespace tutti::plan::synth
