#include <gmock/gmock.h>

#include <algorithm>

#include "plan/synth/sketch/contiguity.h"
#include "plan/synth/sketch/logical.h"
#include "plan/synth/sketch/lower.h"
#include "plan/synth/sketch/ordering.h"
#include "plan/synth/sketch/routing.h"
#include "tests/unit/sketch/machines.h"
#include "tests/unit/sketch/with_solver.h"

namespace tutti::plan::sketch {
namespace {

using testing::HasSubstr;

class StageTest : public test::WithSolver {
 protected:
  Routing routed(const topo::Topology& topology, const Sketch& sketch, const Demand& demand) {
    logical = logical_of(topology, sketch, Direction::kForward).value();
    RoutingOptions options;
    options.solve.seconds = 60;
    options.solve.gap = 0.005;
    return route(logical, demand, sketch, solver(), options).value();
  }
  Logical logical;
};

Demand gather(uint32_t num_ranks, uint32_t chunks, double chunk_bytes) {
  return {.num_ranks = num_ranks, .chunks = chunks, .chunk_bytes = chunk_bytes};
}

// Links in ns a byte as TACCL's files have them in us a chunk, latencies included; so one byte a
// chunk.
topo::Topology ndv2(uint32_t num_nodes) {
  const int wires[8][8] = {{0, 2, 1, 1, 2, 0, 0, 0}, {2, 0, 1, 2, 0, 1, 0, 0},
                           {1, 1, 0, 2, 0, 0, 2, 0}, {1, 2, 2, 0, 0, 0, 0, 1},
                           {2, 0, 0, 0, 0, 2, 1, 1}, {0, 1, 0, 0, 2, 0, 1, 2},
                           {0, 0, 2, 0, 1, 1, 0, 2}, {0, 0, 0, 1, 1, 2, 2, 0}};
  std::vector<test::Wired> links;
  for (uint32_t node = 0; node < num_nodes; ++node) {
    for (uint32_t a = 0; a < 8; ++a) {
      for (uint32_t b = 0; b < 8; ++b) {
        if (wires[a][b] == 0) continue;
        links.push_back({8 * node + a, 8 * node + b, wires[a][b] / 46.0, 0});
      }
    }
    for (uint32_t other = 0; other < num_nodes; ++other) {
      if (other == node) continue;
      links.push_back({8 * node, 8 * other + 1, 1 / 107.0, 0, topo::LinkClass::kNetwork});
    }
  }
  return test::wired(8 * num_nodes, 8, links);
}

TEST_F(StageTest, TwoNdv2TakeAsLongAsTheirNetworkNeeds) {
  const Sketch sketch = {.ranks_per_node = 8, .symmetry = {{8, 16}}};
  const Routing routing = routed(ndv2(2), sketch, gather(16, 1, 1));
  EXPECT_NEAR(routing.time_ns, 856, 1e-6);  // 8 blocks of 107
  EXPECT_TRUE(routing.is_best);
  EXPECT_NEAR(routing.bound_ns, 856, 10);
}

TEST_F(StageTest, ChunksOfAnExchangeTakeTheNetworkOncePerPair) {
  const Sketch sketch = {.ranks_per_node = 8, .symmetry = {{8, 16}}};
  Demand demand = gather(16, 1, 1);
  demand.pattern = Pattern::kExchange;
  const Routing routing = routed(ndv2(2), sketch, demand);
  EXPECT_NEAR(routing.time_ns, 6848, 1e-6);  // 64 blocks of 107
}

TEST_F(StageTest, ARingOfFourGathersInTwoHopsAndCarriesOneAndAHalf) {
  // Three blocks come to each rank over two links: two over one of them.
  const Sketch sketch = {.ranks_per_node = 4};
  const Routing routing = routed(test::two_way_ring(4, 1, 0), sketch, gather(4, 1, 10));
  EXPECT_NEAR(routing.time_ns, 20, 1e-6);
  const Routing halves = routed(test::two_way_ring(4, 1, 0), sketch, gather(4, 2, 5));
  EXPECT_NEAR(halves.time_ns, 15, 1e-6);
}

TEST_F(StageTest, SymmetricRoutesReallyAre) {
  const Sketch sketch = {.ranks_per_node = 8, .symmetry = {{1, 8}}};
  const Demand demand = gather(8, 1, 10);
  const Routing routing = routed(test::two_way_ring(8, 1, 1), sketch, demand);
  for (const Rotation& rotation : sketch.symmetry) {
    const std::vector<uint32_t> image = link_images(logical, rotation).value();
    for (uint32_t c = 0; c < demand.num_chunks(); ++c) {
      std::vector<uint32_t> turned;
      for (const uint32_t l : routing.links[c]) turned.push_back(image[l]);
      std::vector<uint32_t> there = routing.links[demand.image(c, rotation)];
      std::sort(turned.begin(), turned.end());
      std::sort(there.begin(), there.end());
      EXPECT_EQ(turned, there) << "chunk " << c;
    }
  }
}

TEST_F(StageTest, SymmetryMakesOneVariableOfMany) {
  const topo::Topology ring = test::two_way_ring(8, 1, 1);
  Sketch sketch = {.ranks_per_node = 8};
  const Routing plain = routed(ring, sketch, gather(8, 1, 10));
  sketch.symmetry = {{1, 8}};
  const Routing turned = routed(ring, sketch, gather(8, 1, 10));
  EXPECT_EQ(turned.num_binaries * 8, plain.num_binaries);
  EXPECT_NEAR(turned.time_ns, plain.time_ns, 1e-6);
}

TEST_F(StageTest, RelaysAreKept) {
  Sketch sketch = {.ranks_per_node = 3};
  sketch.relays = {{.through = 0, .blocks_of = {0, 1, 2}}};
  const Demand demand = gather(6, 1, 100);
  const Routing routing = routed(test::two_cliques(3, 25, 12.5), sketch, demand);
  for (const auto& links : routing.links) {
    for (const uint32_t l : links) {
      EXPECT_TRUE(!logical.links[l].crosses || logical.links[l].from % 3 == 0);
    }
  }
}

TEST_F(StageTest, ASketchThatLeavesNoRouteIsToldApart) {
  const topo::Topology machine = test::two_cliques(3, 25, 12.5);
  Sketch sketch = {.ranks_per_node = 3, .across = Across::kListed, .senders = {{2, {2}}}};
  auto logical_answer = logical_of(machine, sketch, Direction::kForward);
  ASSERT_FALSE(logical_answer);
  EXPECT_THAT(logical_answer.error().message,
              HasSubstr("the sketch excludes every route from rank 0 to rank 3"));
  sketch = {.ranks_per_node = 3, .relays = {{2, {1}}}};
  logical = logical_of(machine, sketch, Direction::kForward).value();
  const auto answer = route(logical, gather(6, 1, 1), sketch, solver(), {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(answer.error().message, HasSubstr("for the data of rank 1 to rank 3"));
}

TEST_F(StageTest, ARotationThatIsNoneIsToldApart) {
  const Sketch sketch = {.ranks_per_node = 4, .symmetry = {{1, 4}}};
  std::vector<test::Wired> links = {{0, 1, 1, 0}, {1, 2, 1, 0}, {2, 3, 1, 0}, {3, 0, 2, 0}};
  logical = logical_of(test::wired(4, 4, links), sketch, Direction::kForward).value();
  const auto answer = route(logical, gather(4, 1, 1), sketch, solver(), {});
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("symmetry [1, 4] is not one of this machine"));
}

// A solver that answers what it is told.
class FixedAnswer final : public solver::Solver {
 public:
  explicit FixedAnswer(solver::Solution answer) : answer_(std::move(answer)) {}
  [[nodiscard]] std::string_view name() const override { return "fixed"; }
  Result<solver::Solution> solve(const solver::Milp&, const solver::SolveOptions&) override {
    return answer_;
  }

 private:
  solver::Solution answer_;
};

Result<Routing> routed_by(const solver::Solution& answer, const Sketch& sketch) {
  const Logical ring = logical_of(test::two_way_ring(4, 1, 1), sketch, Direction::kForward).value();
  FixedAnswer fixed(answer);
  return route(ring, gather(4, 1, 1), sketch, fixed, {});
}

// A turn and a reflection of the ring: rank 1 stays where it is while its neighbours change places,
// so that no route of its block is like its own image, and there is nothing to begin with.
ErrorCode code_for(const solver::Solution& answer) {
  const Sketch sketch = {.ranks_per_node = 4, .symmetry = {{1, 2}, {1, 4}}};
  return routed_by(answer, sketch).error().code;
}

TEST(RoutingErrors, InfeasibleTimeOutAndStopAreThreeThings) {
  EXPECT_EQ(code_for({.outcome = solver::Outcome::kInfeasible}), ErrorCode::kRefused);
  EXPECT_EQ(code_for({.outcome = solver::Outcome::kNothingFound}), ErrorCode::kDeadline);
  EXPECT_EQ(code_for({.outcome = solver::Outcome::kNothingFound, .was_stopped = true}),
            ErrorCode::kAborted);
}

TEST(Routing, GoesOnWithWhatItBeganWithWhereTheSolverFindsNothing) {
  const auto routing =
      routed_by({.outcome = solver::Outcome::kNothingFound}, {.ranks_per_node = 4});
  ASSERT_TRUE(routing.ok()) << routing.error().message;
  EXPECT_FALSE(routing->is_best);
  for (const auto& links : routing->links) EXPECT_EQ(links.size(), 3u);
}

TEST(RoutingErrors, AnAnswerThatIsNoSolutionIsToldAsTheSolvers) {
  solver::Solution nonsense = {.outcome = solver::Outcome::kOptimal};
  nonsense.values.assign(1000, 0);
  const auto routing = routed_by(nonsense, {.ranks_per_node = 4});
  ASSERT_FALSE(routing.ok());
  EXPECT_EQ(routing.error().code, ErrorCode::kIo);
  EXPECT_THAT(routing.error().message, HasSubstr("fixed's answer"));
}

// Rank 1 would pass on what it does not have yet.
TEST(Lowering, RefusesATransferBeforeItsParent) {
  const Sketch sketch = {.ranks_per_node = 3};
  const Logical row = logical_of(test::two_way_ring(3, 1, 1), sketch, Direction::kForward).value();
  const Demand demand = gather(3, 1, 10);
  std::vector<std::vector<uint32_t>> chains(3);
  for (uint32_t c = 0; c < 3; ++c) {
    chains[c] = {row.find(c, (c + 1) % 3), row.find((c + 1) % 3, (c + 2) % 3)};
  }
  Phase phase;
  phase.logical = &row;
  phase.demand = demand;
  phase.transfers = order(row, demand, chains, {.chunk_bytes = 10});
  const Collective all_gather{.kind = CollectiveKind::kAllGather, .num_ranks = 3};
  const Collective reduce_scatter{.kind = CollectiveKind::kReduceScatter, .num_ranks = 3};
  ASSERT_TRUE(lower(all_gather, {phase}, {}).ok());
  for (Transfer& transfer : phase.transfers) {
    const double begin_ns = transfer.begin_ns;
    transfer.begin_ns = 1000 - transfer.end_ns;
    transfer.end_ns = 1000 - begin_ns;
  }
  EXPECT_EQ(lower(all_gather, {phase}, {}).error().code, ErrorCode::kRefused);
  phase.direction = Direction::kBackward;
  std::reverse(phase.transfers.begin(), phase.transfers.end());
  EXPECT_EQ(lower(reduce_scatter, {phase}, {}).error().code, ErrorCode::kRefused);
}

TEST(Ordering, KeepsEveryPortToOneChunkAtATime) {
  const Sketch sketch = {.ranks_per_node = 4};
  const Logical ring = logical_of(test::two_way_ring(4, 1, 5), sketch, Direction::kForward).value();
  const Demand demand = gather(4, 1, 10);
  std::vector<std::vector<uint32_t>> clockwise(4);
  for (uint32_t c = 0; c < 4; ++c) {
    for (uint32_t hop = 0; hop < 3; ++hop) {
      clockwise[c].push_back(ring.find((c + hop) % 4, (c + hop + 1) % 4));
    }
  }
  const std::vector<Transfer> order_of = order(ring, demand, clockwise, {.chunk_bytes = 10});
  EXPECT_EQ(order_of.size(), 12u);
  EXPECT_DOUBLE_EQ(makespan_ns(order_of), 45);  // three hops of 5 + 10
  EXPECT_DOUBLE_EQ(interval_ns(ring, order_of, 10), 30);
  for (size_t a = 0; a < order_of.size(); ++a) {
    for (size_t b = a + 1; b < order_of.size(); ++b) {
      if (order_of[a].link == order_of[b].link) {
        EXPECT_GE(order_of[b].begin_ns, order_of[a].begin_ns + 10);
      }
    }
  }
}

// Four chunks over one link: latency 100, 1 a chunk.
TEST_F(StageTest, ChunksThatGoTogetherPayOneLatency) {
  const Sketch sketch = {.ranks_per_node = 2, .chunks = 4};
  logical =
      logical_of(test::wired(2, 2, {{0, 1, 1, 100}, {1, 0, 1, 100}}), sketch, Direction::kForward)
          .value();
  const Demand demand = gather(2, 4, 1);
  std::vector<std::vector<uint32_t>> direct(8);
  for (uint32_t c = 0; c < 8; ++c) direct[c] = {logical.find(c / 4, 1 - c / 4)};
  const auto ordered = order(logical, demand, direct, {.chunk_bytes = 1});
  const Contiguity joined = join_messages(logical, demand, ordered, solver(), {}).value();
  EXPECT_DOUBLE_EQ(joined.apart_ns, 404);
  EXPECT_NEAR(joined.time_ns, 104, 1e-3);
  EXPECT_EQ(joined.num_joined, 6u);
}

// With a hop behind the link it is better to send a part early: 2 + 2 of latency 2 and 1 a chunk.
TEST_F(StageTest, ChunksStayApartWhereTheyHaveToGoOn) {
  const Sketch sketch = {.ranks_per_node = 3, .chunks = 4};
  logical = logical_of(test::wired(3, 3, {{0, 1, 1, 0.5}, {1, 2, 1, 0.5}, {2, 0, 1, 0.5}}), sketch,
                       Direction::kForward)
                .value();
  const Demand demand = gather(3, 4, 10);
  std::vector<std::vector<uint32_t>> chain(12);
  for (uint32_t c = 0; c < 4; ++c) chain[c] = {logical.find(0, 1), logical.find(1, 2)};
  const auto ordered = order(logical, demand, chain, {.chunk_bytes = 10});
  const Contiguity joined = join_messages(logical, demand, ordered, solver(), {}).value();
  EXPECT_DOUBLE_EQ(joined.apart_ns, 52.5);
  // The last two of the first link may go together no better; no choice is worse than apart.
  EXPECT_LE(joined.time_ns, joined.apart_ns);
  EXPECT_GE(joined.time_ns, 51);
}

}  // namespace
}  // namespace tutti::plan::sketch
