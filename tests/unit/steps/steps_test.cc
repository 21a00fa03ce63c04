// Synthesis in steps: bounds that hold, known values on known machines, moves that are really
// possible, schedules that are right and as quick as their steps say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "plan/synth/steps/step_plan.h"
#include "tests/unit/greedy/random_topology.h"
#include "tests/unit/plan/expect_proved.h"
#include "topo/build.h"

namespace tutti::plan::steps {
namespace {

using ::testing::HasSubstr;

constexpr CollectiveKind kInSteps[] = {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                                       CollectiveKind::kAllReduce, CollectiveKind::kAllToAll,
                                       CollectiveKind::kBroadcast, CollectiveKind::kReduce};

topo::Topology one_way_circle(uint32_t num_ranks) {
  topo::Topology topology;
  topology.name = "circle";
  for (uint32_t r = 0; r < num_ranks; ++r) topo::add_rank(topology, fmt::format("d{}", r), 0);
  for (uint32_t r = 0; num_ranks > 1 && r < num_ranks; ++r) {
    topo::add_link(topology, topology.ranks[r], topology.ranks[(r + 1) % num_ranks],
                   {topo::LinkClass::kNvlink, 25, 700});
  }
  return topology;
}

StepNetwork network_of(const std::string& name) {
  return step_network(topo::open(name).value()).value();
}

StepDemand spread_of(const StepNetwork& network, uint32_t chunks) {
  StepDemand demand;
  demand.chunks = chunks;
  for (uint32_t r = 0; r < network.num_ranks; ++r) demand.owners.push_back(r);
  return demand;
}
StepDemand broadcast_of(uint32_t root, uint32_t chunks) {
  return {.chunks = chunks, .owners = {root}};
}
StepDemand exchange_of(uint32_t chunks) {
  return {.kind = StepDemand::Kind::kExchange, .chunks = chunks, .owners = {}};
}

// Plays the moves: nothing is sent before it is there, all that is needed arrives, and the steps
// are as many rounds long together as was said.
void expect_possible(const StepNetwork& network, const StepDemand& demand,
                     const StepsFound& found) {
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> there;  // rank and chunk: before which step
  const uint32_t p = network.num_ranks;
  const bool is_spread = demand.kind == StepDemand::Kind::kSpread;
  const uint32_t num_chunks = is_spread ? demand.num_chunks() : p * p * demand.chunks;
  for (uint32_t c = 0; c < num_chunks; ++c) {
    there[{is_spread ? demand.owners[c / demand.chunks] : c / demand.chunks / p, c}] = 0;
  }
  std::map<uint32_t, std::map<uint32_t, uint32_t>> load;  // step, link
  for (const Move& move : found.moves) {
    const StepHop& hop = network.hops[move.hop];
    ASSERT_TRUE(there.contains({hop.from, move.chunk}));
    EXPECT_LE((there[{hop.from, move.chunk}]), move.step);
    there.try_emplace({hop.to, move.chunk}, move.step + 1);
    for (const uint32_t link : hop.links) ++load[move.step][link];
  }
  uint32_t rounds = 0;
  for (const auto& [step, links] : load) {
    uint32_t most = 0;
    for (const auto& [link, count] : links) {
      const uint32_t capacity = network.links[link].capacity;
      most = std::max(most, (count + capacity - 1) / capacity);
    }
    rounds += most;
  }
  EXPECT_LE(rounds, found.num_rounds);
  for (uint32_t c = 0; c < num_chunks; ++c) {
    for (uint32_t r = 0; r < p; ++r) {
      const bool wants = is_spread || c / demand.chunks % p == r;
      EXPECT_TRUE((!wants || there.contains({r, c}))) << "rank " << r << " lacks chunk " << c;
    }
  }
}

struct Known {
  uint32_t chunks;
  uint32_t steps;
  uint32_t rounds;
};

void expect_known(const StepNetwork& network, const StepDemand& demand, const Known& known) {
  SCOPED_TRACE(fmt::format("{} chunks in {} steps", known.chunks, known.steps));
  const StepsFound found = find_in_steps(network, demand, known.steps, Effort::kFull);
  EXPECT_EQ(found.least_rounds, known.rounds);
  EXPECT_EQ(found.num_rounds, known.rounds);
  expect_possible(network, demand, found);
}

// SCCL's table for a DGX-1: chunks, steps, rounds.
TEST(Steps, AreWhatScclFoundForAllGatherOnADgx1) {
  const StepNetwork network = network_of("dgx-1v");
  for (const Known& known : {Known{1, 2, 2}, {2, 2, 3}, {2, 3, 3}, {3, 4, 4}, {6, 3, 7}}) {
    expect_known(network, spread_of(network, known.chunks), known);
    expect_known(reversed(network), spread_of(network, known.chunks), known);
  }
}

TEST(Steps, AreWhatScclFoundForBroadcastAndAllToAllOnADgx1) {
  const StepNetwork network = network_of("dgx-1v");
  for (const Known& known : {Known{2, 2, 2}, {6, 3, 3}}) {
    for (uint32_t root = 0; root < 8; ++root) {
      expect_known(network, broadcast_of(root, known.chunks), known);
    }
  }
  expect_known(network, exchange_of(1), {1, 2, 3});
}

TEST(Steps, OfACircleAreItsLengthAndOfACrossbarOne) {
  const StepNetwork circle = step_network(one_way_circle(5)).value();
  EXPECT_EQ(farthest_pair(circle, spread_of(circle, 1)).num_hops, 4u);
  expect_known(circle, spread_of(circle, 1), {1, 4, 4});
  // Rank 0's block goes 4 hops, all blocks together 5 (1 + 2 + 3 + 4), over 5 links.
  expect_known(circle, exchange_of(1), {1, 4, 10});
  const StepNetwork crossbar = network_of("switch:6");
  EXPECT_EQ(farthest_pair(crossbar, spread_of(crossbar, 1)).num_hops, 1u);
  expect_known(crossbar, spread_of(crossbar, 1), {1, 1, 5});
  expect_known(crossbar, exchange_of(2), {2, 1, 10});
}

TEST(StepBounds, ProveThatFewerRoundsDoNotSuffice) {
  const StepNetwork network = network_of("dgx-1v");
  EXPECT_FALSE(may_suffice(network, spread_of(network, 6), {1, 3, 2}));  // 7/6 rounds a chunk
  EXPECT_FALSE(may_suffice(network, spread_of(network, 1), {2}));        // some are 2 hops away
  EXPECT_TRUE(may_suffice(network, spread_of(network, 1), {1, 1}));
  EXPECT_EQ(least_rounds(network, spread_of(network, 6), 2, 100), 9u);
}

uint64_t seed_of_steps() {
  const char* const given = std::getenv("TUTTI_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 20261118;
}

TEST(Steps, ArePossibleAndNeverFewerThanTheBoundsOnRandomTopologies) {
  SCOPED_TRACE(fmt::format("TUTTI_SEED={}", seed_of_steps()));
  std::mt19937_64 random(seed_of_steps());
  for (int i = 0; i < 30; ++i) {
    const auto num_ranks = static_cast<uint32_t>(2 + random() % 7);
    const auto network = step_network(synth::random_topology(num_ranks, random));
    if (!network) continue;
    const auto chunks = static_cast<uint32_t>(1 + random() % 3);
    for (const StepDemand& demand :
         {spread_of(*network, chunks), broadcast_of(0, chunks), exchange_of(1)}) {
      const uint32_t least = farthest_pair(*network, demand).num_hops;
      const StepsFound found = find_in_steps(*network, demand, least, Effort::kLow);
      ASSERT_NE(found.num_rounds, 0u);
      EXPECT_GE(found.num_rounds, found.least_rounds);
      expect_possible(*network, demand, found);
    }
  }
}

TEST(StepsPlan, IsProvedAndRightForAllThatItServes) {
  std::mt19937_64 random(seed_of_steps());
  for (const topo::Topology& topology :
       {topo::open("dgx-1v").value(), topo::open("ring:5").value(), one_way_circle(3),
        topo::open("ring:2").value(), synth::random_topology(6, random)}) {
    for (const CollectiveKind kind : kInSteps) {
      for (const uint32_t chunks : {0u, 3u}) {
        SCOPED_TRACE(fmt::format("{} on {}", to_string(kind), topology.name));
        const Collective collective{kind, topology.num_ranks(), is_rooted(kind) ? 1u : 0u};
        const auto plan = plan_steps(collective, topology,
                                     {.bytes = 1000, .chunks = chunks, .effort = Effort::kLow});
        ASSERT_TRUE(plan.ok()) << plan.error().message;
        expect_proved_and_right(plan->schedule);
      }
    }
  }
  const auto alone = plan_steps({CollectiveKind::kAllReduce, 1}, one_way_circle(1), {});
  ASSERT_TRUE(alone.ok()) << alone.error().message;
  expect_proved_and_right(alone->schedule);
}

// Two hops of 700 ns, whatever the collective: what comes to a rank in a step comes side by side.
TEST(StepsPlan, TakesALatencyForEachStepAndNoMore) {
  const topo::Topology topology = topo::open("dgx-1v").value();
  for (const CollectiveKind kind : kInSteps) {
    SCOPED_TRACE(to_string(kind));
    const auto plan = plan_steps({kind, 8}, topology, {.bytes = 64, .effort = Effort::kLow});
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->farthest.num_hops, 2u);
    EXPECT_GE(plan->best.ns, 1400);
    EXPECT_LE(plan->best.ns, 1420);
  }
}

TEST(StepsPlan, SaysWhyThereAreNoFewerSteps) {
  const topo::Topology topology = topo::open("dgx-1v").value();
  const auto plan = plan_steps({CollectiveKind::kAllGather, 8}, topology, {.bytes = 64});
  EXPECT_THAT(summary(*plan, topology), HasSubstr("no schedule has fewer than 2 steps: gpu0 and"));
  EXPECT_THAT(summary(*plan, topology), HasSubstr("none has fewer rounds"));
}

// It took minutes before searches were cut short.
TEST(StepsPlan, SaysThatSearchesForManyRanksWereCutShort) {
  const topo::Topology torus = topo::open("torus:4x4").value();
  const auto plan =
      plan_steps({CollectiveKind::kAllGather, 16}, torus, {.bytes = 65536, .chunks = 6});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->num_searches, 3u);
  EXPECT_EQ(plan->num_cut_short,
            2u);  // not the one for a single step, whose first attempt is right
  EXPECT_THAT(summary(*plan, torus), HasSubstr("2 of 3 searches were cut short"));
  EXPECT_EQ(plan->best.num_steps, 1u);
}

// With more rounds than another, and yet quicker: the simulator does not know of rounds.
TEST(StepsPlan, TakesTheFastestOfAllThatSearchesFound) {
  const topo::Topology torus = topo::open("torus:4x4").value();
  const auto plan =
      plan_steps({CollectiveKind::kAllGather, 16}, torus, {.bytes = 65536, .chunks = 1});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  uint32_t num_of_two_steps = 0;
  for (const StepsTrial& trial : plan->trials) {
    num_of_two_steps += trial.num_steps == 2 ? 1 : 0;
    EXPECT_GE(trial.ns, plan->best.ns);
  }
  EXPECT_GT(num_of_two_steps, 1u);
}

TEST(StepsPlan, RefusesWhatItDoesNotServe) {
  const auto gather = plan_steps({CollectiveKind::kGather, 8}, topo::open("dgx-1v").value(), {});
  ASSERT_FALSE(gather.ok());
  EXPECT_EQ(gather.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(gather.error().message, HasSubstr("not gather"));
  const auto many =
      plan_steps({CollectiveKind::kAllGather, 17}, topo::open("switch:17").value(), {});
  ASSERT_FALSE(many.ok());
  EXPECT_THAT(many.error().message, HasSubstr("up to 16 ranks"));
}

}  // namespace
}  // namespace tutti::plan::steps
