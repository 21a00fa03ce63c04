#include "plan/synth/sketch/synthesize.h"

#include <gmock/gmock.h>

#include "plan/synth/sketch/automatic.h"
#include "plan/synth/sketch/taccl_files.h"
#include "tests/unit/plan/expect_proved.h"
#include "tests/unit/sketch/machines.h"
#include "tests/unit/sketch/with_solver.h"

namespace tutti::plan::sketch {
namespace {

using testing::HasSubstr;

constexpr CollectiveKind kServed[] = {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                                      CollectiveKind::kAllReduce, CollectiveKind::kAllToAll};

class SynthesisTest : public test::WithSolver {
 protected:
  Synthesis made(CollectiveKind kind, const topo::Topology& topology, const Sketch& sketch,
                 uint64_t bytes, uint32_t pieces = 0) {
    SynthesisOptions options;
    options.bytes = bytes;
    options.seconds = 20;
    options.pieces = pieces;
    return synthesize({kind, topology.num_ranks()}, topology, sketch, solver(), options).value();
  }
};

TEST_F(SynthesisTest, EveryCollectiveIsProvedOnTwoNodes) {
  const Sketch sketch = {.ranks_per_node = 3, .symmetry = {{3, 6}}};
  for (const CollectiveKind kind : kServed) {
    const Synthesis plan = made(kind, test::two_cliques(3, 25, 12.5), sketch, 6000);
    expect_proved_and_right(plan.schedule);
    EXPECT_GE(plan.ns, plan.bound_ns);
  }
}

TEST_F(SynthesisTest, ChunksAndPiecesAreProvedToo) {
  const Sketch sketch = {.ranks_per_node = 4, .chunks = 2, .symmetry = {{1, 4}}};
  for (const CollectiveKind kind : kServed) {
    const Synthesis plan = made(kind, test::two_way_ring(4, 25, 700), sketch, 1 << 20, 3);
    EXPECT_EQ(plan.pieces, 3u);
    expect_proved_and_right(plan.schedule);
  }
}

TEST_F(SynthesisTest, OneRankNeedsNoSolver) {
  const topo::Topology alone = test::wired(1, 1, {});
  for (const CollectiveKind kind : kServed) {
    expect_proved_and_right(made(kind, alone, {}, 8).schedule);
  }
}

TEST_F(SynthesisTest, ADirectExchangeOfFullyConnectedRanksIsAtItsBound) {
  const Sketch sketch = {.ranks_per_node = 4, .symmetry = {{1, 4}}};
  const Synthesis plan =
      made(CollectiveKind::kAllGather, test::complete(4, 25, 1000), sketch, 1000);
  EXPECT_DOUBLE_EQ(plan.ns, 1000 + 250 / 25.0);
}

TEST_F(SynthesisTest, OtherCollectivesAreRefused) {
  const topo::Topology ring = test::two_way_ring(4, 1, 1);
  const auto answer =
      synthesize({CollectiveKind::kBroadcast, 4}, ring, {.ranks_per_node = 4}, solver(), {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnsupported);
}

TEST_F(SynthesisTest, WithoutASketchOneIsDrawn) {
  SynthesisOptions options;
  options.bytes = 1 << 16;
  options.seconds = 10;
  const topo::Topology machine = test::two_cliques(3, 25, 12.5);
  const auto plan =
      synthesize_automatically({CollectiveKind::kAllGather, 6}, machine, solver(), options).value();
  expect_proved_and_right(plan.best.schedule);
  EXPECT_EQ(plan.best.sketch.ranks_per_node, 3u);
  EXPECT_FALSE(plan.attempts.empty());
}

TEST(AutomaticSketches, HaveTheRotationsOfTheMachine) {
  const auto ring =
      automatic_sketches(test::two_way_ring(6, 1, 1), {CollectiveKind::kAllGather, 6});
  ASSERT_FALSE(ring.empty());
  EXPECT_EQ(ring[0].symmetry, (std::vector<Rotation>{{1, 6}}));
  const auto pair =
      automatic_sketches(test::two_cliques(4, 25, 12.5), {CollectiveKind::kAllGather, 8});
  ASSERT_FALSE(pair.empty());
  for (const Sketch& sketch : pair) {
    EXPECT_EQ(sketch.ranks_per_node, 4u);
    EXPECT_EQ(sketch.symmetry, (std::vector<Rotation>{{4, 8}}));  // rank 0 and 1 are special
  }
}

constexpr std::string_view kSwitched = R"({"name": "Box_2KB", "gpus_per_node": 4,
 "nics_per_node": 2, "alpha": 0.5, "node_betas_list": [2], "node_invbws_list": [2],
 "remote_alpha": 3, "remote_beta": 10, "remote_invbw": 13})";
constexpr std::string_view kPairs = R"({"nnodes": 2,
 "intranode_sketch": {"strategy": "switch", "switches": [[0,1,2,3]],
                      "switch_hyperedge_strategy": ["uc-min"]},
 "internode_sketch": {"strategy": "relay", "internode_conn": {"1": [0], "3": [2]},
                      "gpus_to_sender_rev_map": {"1": [0,1], "3": [2,3]},
                      "enforce_ordering": true},
 "symmetry_offsets": [[2, 4], [4, 8]], "hyperparameters": {"input_chunkup": 2}})";

TEST(TacclFiles, ATopologyOfSwitchedNodesIsRead) {
  const topo::Topology topology = taccl_topology(kSwitched, "t.json", 2).value();
  EXPECT_EQ(topology.num_ranks(), 8u);
  const auto nic = topo::find_node(topology, "node1/nic1");
  ASSERT_TRUE(nic);
  for (const topo::Link& link : topology.links) {
    if (link.link_class == topo::LinkClass::kNvlink) {
      EXPECT_DOUBLE_EQ(link.gbps, 1);  // 2000 bytes in 2 us
      EXPECT_DOUBLE_EQ(link.latency_ns, 250);
    }
  }
}

TEST(TacclFiles, ASketchIsReadAndSurvivesOurOwnFormat) {
  const TacclSketch read = taccl_sketch(kPairs, "s.json", 4).value();
  EXPECT_EQ(read.nodes, 2u);
  EXPECT_EQ(read.sketch.chunks, 2u);
  EXPECT_EQ(read.sketch.senders, (std::vector<Sender>{{1, {0}}, {3, {2}}}));
  EXPECT_EQ(read.sketch.relays, (std::vector<Relay>{{1, {0, 1}}, {3, {2, 3}}}));
  EXPECT_EQ(read.sketch.switches, (std::vector<HyperEdge>{{{0, 1, 2, 3}, Policy::kFewest}}));
  EXPECT_EQ(read.sketch.symmetry, (std::vector<Rotation>{{2, 4}, {4, 8}}));
  EXPECT_TRUE(read.sketch.own_first);
  EXPECT_EQ(from_json(to_json(read.sketch), "ours.json").value(), read.sketch);
}

TEST(TacclFiles, AMatrixIsReadFromColumnToRow) {
  const topo::Topology topology =
      taccl_topology(R"({"name": "Odd_1KB", "gpus_per_node": 2, "alpha": 1,
        "links": [[0, 1], [2, 0]], "betas": [[0, 4], [5, 0]], "invbws": [[0, 5], [6, 0]]})",
                     "t.json", 1)
          .value();
  ASSERT_EQ(topology.links.size(), 2u);
  EXPECT_EQ(topology.links[0].from, topo::NodeId(0));  // row 1, column 0
  EXPECT_DOUBLE_EQ(topology.links[0].gbps, 1000 / 5e3);
}

TEST(TacclFiles, MistakesAreToldWithTheirLine) {
  const auto error_of = [](std::string_view text) {
    return taccl_sketch(text, "s.json", 4).error().message;
  };
  EXPECT_THAT(error_of("{\n\"nnodes\": 0}"), HasSubstr("s.json:2"));
  EXPECT_THAT(error_of("{\"nnodes\": 1,\n\"intranode_sketch\": {\"strategy\": \"minmax\"},\n"
                       "\"hyperparameters\": {\"input_chunkup\": 1}}"),
              HasSubstr("s.json:2"));
  EXPECT_THAT(error_of("{\"nnodes\": 2,\n\"intranode_sketch\": {\"strategy\": \"none\"},\n"
                       "\"internode_sketch\": {\"strategy\": \"relay\",\n"
                       "\"internode_conn\": {\"9\": [0]}},\n"
                       "\"hyperparameters\": {\"input_chunkup\": 1}}"),
              HasSubstr("s.json:4"));
  EXPECT_THAT(taccl_topology("{\"name\": \"x\",\n\"gpus_per_node\": 5, \"alpha\": 1,\n"
                             "\"node_betas_list\": [1, 2]}",
                             "t.json", 1)
                  .error()
                  .message,
              HasSubstr("t.json:3"));
}

TEST_F(SynthesisTest, TacclsFilesMakeAProvedSchedule) {
  const topo::Topology topology = taccl_topology(kSwitched, "t.json", 2).value();
  const TacclSketch read = taccl_sketch(kPairs, "s.json", 4).value();
  expect_proved_and_right(made(CollectiveKind::kAllGather, topology, read.sketch, 16000).schedule);
  expect_proved_and_right(made(CollectiveKind::kAllReduce, topology, read.sketch, 16000).schedule);
}

TEST(SketchFiles, ANameMayHoldAnything) {
  const Sketch sketch = {.name = "a \"b\" \\ c\n", .ranks_per_node = 2};
  const auto read = from_json(to_json(sketch), "s.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, sketch);
}

TEST(SketchFiles, MistakesAreToldWithTheirLine) {
  const auto error_of = [](const std::string& fields) {
    return from_json("{\"format\": \"tutti-sketch\", \"version\": 1,\n" + fields + "}", "s.json")
        .error()
        .message;
  };
  EXPECT_THAT(error_of("\"ranks_per_node\": 0"), HasSubstr("s.json:2"));
  EXPECT_THAT(error_of("\"ranks_per_node\": 4, \"rotations\": []"), HasSubstr("rotations"));
  EXPECT_THAT(error_of("\"ranks_per_node\": 4, \"across\": \"some\""), HasSubstr("all, same"));
  EXPECT_THAT(error_of("\"ranks_per_node\": 4, \"symmetry\": [[1]]"), HasSubstr("[offset, group]"));
  EXPECT_THAT(error_of("\"ranks_per_node\": 4, \"across\": {\"x\": [1]}"), HasSubstr("'x'"));
}

TEST(SketchFiles, WhatDoesNotFitTheRanksIsNamed) {
  EXPECT_THAT(check({.ranks_per_node = 4}, 6).error().message, HasSubstr("whole nodes of 4"));
  EXPECT_THAT(check({.ranks_per_node = 2, .symmetry = {{1, 4}}}, 6).error().message,
              HasSubstr("symmetry [1, 4]"));
  EXPECT_THAT(check({.ranks_per_node = 2, .relays = {{2, {0}}}}, 4).error().message,
              HasSubstr("leave_through"));
}

// A solver that dies without an answer when it is asked first, and finds nothing after that.
class DiesOnce final : public solver::Solver {
 public:
  [[nodiscard]] std::string_view name() const override { return "dies once"; }
  Result<solver::Solution> solve(const solver::Milp&, const solver::SolveOptions&) override {
    if (num_asked_++ == 0) return Error{ErrorCode::kIo, "ended without an answer"};
    return solver::Solution{.outcome = solver::Outcome::kNothingFound};
  }

 private:
  int num_asked_ = 0;
};

TEST(AutomaticSynthesis, GoesOnWithTheNextSketchWhereTheSolverDies) {
  DiesOnce solver;
  SynthesisOptions options;
  options.bytes = 6000;
  const auto made = synthesize_automatically({CollectiveKind::kAllGather, 6},
                                             test::two_cliques(3, 25, 12.5), solver, options);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_THAT(made->attempts.front().failed, HasSubstr("without an answer"));
  expect_proved_and_right(made->best.schedule);
}

}  // namespace
}  // namespace tutti::plan::sketch
