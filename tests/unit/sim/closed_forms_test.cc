// Where textbooks have a formula, the simulator gives exactly that.
#include <gtest/gtest.h>

#include <bit>

#include "plan/algorithm.h"
#include "tests/unit/sim/machines.h"

namespace tutti::sim {
namespace {

struct Case {
  CollectiveKind kind;
  const char* algorithm;
  plan::Options plan = {};
};

constexpr double kRelative = 1e-12;

Report run(const Case& c, const topo::Topology& topology, uint64_t bytes, Discipline discipline) {
  Collective collective{.kind = c.kind, .num_ranks = topology.num_ranks()};
  if (c.kind == CollectiveKind::kSendRecv) collective.peer = topology.num_ranks() - 1;
  const Result<ir::Schedule> schedule = plan::make(collective, c.algorithm, c.plan);
  EXPECT_TRUE(schedule) << schedule.error().message;
  return simulated(*schedule, topology, {.bytes = bytes, .discipline = discipline});
}

double log2_of(uint32_t p) { return std::bit_width(p) - 1; }

// Both disciplines, because these schedules never wait for a slot.
void expect_time(const Case& c, const topo::Topology& topology, uint64_t bytes, double ns) {
  for (const Discipline discipline : {Discipline::kLending, Discipline::kSlots}) {
    const Report report = run(c, topology, bytes, discipline);
    EXPECT_NEAR(report.total_ns, ns, ns * kRelative)
        << c.algorithm << " of " << topology.num_ranks() << " ranks, "
        << (discipline == Discipline::kSlots ? "slots" : "lending");
  }
}

TEST(ClosedForm, RingAllReduceIsTwoRoundsOfPMinusOneSteps) {
  for (const uint32_t p : {2u, 3u, 5u, 8u, 13u, 64u}) {
    const uint64_t n = uint64_t{p} * 4096;
    const Case ring{CollectiveKind::kAllReduce, "ring"};
    const double ns = 2.0 * (p - 1) * message_ns(static_cast<double>(n) / p);
    expect_time(ring, full_mesh(p), n, ns);
    expect_time(ring, star(p), n, ns);
  }
}

TEST(ClosedForm, RingAllReduceAddsTheReductionOfEveryChunkButOne) {
  for (const uint32_t p : {2u, 3u, 7u}) {
    const uint64_t n = uint64_t{p} * 1000;
    const double gamma = 1 / 3.0;
    const double ns = 2.0 * (p - 1) * message_ns(1000) + (p - 1) * 1000 * gamma;
    expect_time({CollectiveKind::kAllReduce, "ring"}, full_mesh(p, 3), n, ns);
  }
}

TEST(ClosedForm, RingAllGatherAndReduceScatterArePMinusOneSteps) {
  for (const uint32_t p : {2u, 3u, 6u, 11u}) {
    const uint64_t n = uint64_t{p} * 512;
    expect_time({CollectiveKind::kAllGather, "ring"}, full_mesh(p), n, (p - 1) * message_ns(512));
    expect_time({CollectiveKind::kReduceScatter, "ring"}, full_mesh(p), n,
                (p - 1) * message_ns(512));
  }
}

TEST(ClosedForm, RecursiveDoublingAllReduceIsLogTwoExchangesOfTheWhole) {
  for (const uint32_t p : {2u, 4u, 8u, 16u, 32u}) {
    expect_time({CollectiveKind::kAllReduce, "recursive_doubling"}, star(p), 65536,
                log2_of(p) * message_ns(65536));
  }
}

TEST(ClosedForm, BinomialBroadcastIsLogTwoRounds) {
  for (const uint32_t p : {2u, 4u, 8u, 16u, 32u}) {
    expect_time({CollectiveKind::kBroadcast, "binomial"}, full_mesh(p), 10000,
                log2_of(p) * message_ns(10000));
  }
}

TEST(ClosedForm, ChainBroadcastFillsAndDrainsAPipeline) {
  for (const uint32_t p : {2u, 3u, 5u, 16u}) {
    for (const uint32_t k : {1u, 2u, 7u, 32u}) {
      const uint64_t n = uint64_t{k} * 3000;
      const double ns = (p - 2.0 + k) * message_ns(3000);
      expect_time({CollectiveKind::kBroadcast, "chain", {.chunks = k}}, full_mesh(p), n, ns);
      expect_time({CollectiveKind::kBroadcast, "chain", {.chunks = k}}, star(p), n, ns);
    }
  }
}

TEST(ClosedForm, RabenseifnerHalvesAndDoublesTheMessage) {
  for (const uint32_t p : {2u, 4u, 8u, 16u}) {
    const uint64_t n = uint64_t{p} * 2048;
    const double bytes = 2.0 * static_cast<double>(n) * (p - 1) / p;
    expect_time({CollectiveKind::kAllReduce, "rabenseifner"}, star(p), n,
                2 * log2_of(p) * kAlpha + bytes / kGbps);
  }
}

TEST(ClosedForm, PairwiseAllToAllIsPMinusOneExchangesOfABlock) {
  for (const uint32_t p : {2u, 4u, 5u, 9u}) {
    const uint64_t n = uint64_t{p} * 700;
    expect_time({CollectiveKind::kAllToAll, "pairwise"}, star(p), n, (p - 1) * message_ns(700));
  }
}

TEST(ClosedForm, DirectAllGatherSharesTheIngressOfEachRank) {
  for (const uint32_t p : {2u, 3u, 8u}) {
    const uint64_t n = uint64_t{p} * 4000;
    expect_time({CollectiveKind::kAllGather, "direct"}, star(p), n, message_ns(4000.0 * (p - 1)));
    expect_time({CollectiveKind::kAllGather, "direct"}, full_mesh(p), n, message_ns(4000));
  }
}

TEST(ClosedForm, ADisseminationBarrierIsLogTwoLatencies) {
  for (const uint32_t p : {2u, 3u, 4u, 5u, 8u, 9u}) {
    expect_time({CollectiveKind::kBarrier, "dissemination"}, star(p), 0,
                std::bit_width(p - 1) * kAlpha);
  }
}

TEST(ClosedForm, SendRecvIsOneMessage) {
  expect_time({CollectiveKind::kSendRecv, "direct"}, star(2), 12345, message_ns(12345));
}

TEST(ClosedForm, OneRankNeedsNoTime) {
  expect_time({CollectiveKind::kAllReduce, "ring"}, full_mesh(1), 1000, 0);
  expect_time({CollectiveKind::kBarrier, "dissemination"}, full_mesh(1), 0, 0);
}

TEST(ClosedForm, NoBytesCostLatencyOnly) {
  expect_time({CollectiveKind::kAllReduce, "ring"}, full_mesh(4), 0, 6 * kAlpha);
}

}  // namespace
}  // namespace tutti::sim
