// The costs that the files of algorithms state, against the simulator, which shares links: each
// rank has one port of 8 GB/s each way and every message a latency of 512 ns. All times are whole
// numbers of ns, so equality is exact.
#include <gtest/gtest.h>

#include <bit>

#include "plan/algorithm.h"
#include "sim/simulate.h"
#include "tests/unit/plan/plan_facts.h"
#include "topo/machines.h"

namespace tutti::plan {
namespace {

constexpr double kAlpha = 512;
constexpr double kBeta = 1.0 / 8;
constexpr uint32_t kRankCounts[] = {2, 3, 5, 8, 13, 16, 33};

double simulated(const Collective& collective, std::string_view algorithm, uint64_t bytes,
                 const Options& options = {}) {
  const topo::Topology topology =
      topo::make_machine("switch:" + std::to_string(collective.num_ranks) + "@8GB/s,512ns").value();
  sim::Options conditions;
  conditions.bytes = bytes;
  return sim::simulate(make(collective, algorithm, options).value(), topology, conditions)
      .value()
      .total_ns;
}

Collective of(CollectiveKind kind, uint32_t p) {
  return {.kind = kind, .num_ranks = p, .root = is_rooted(kind) ? p / 2 : 0};
}

TEST(ClosedForms, BinomialBroadcastAndReduce) {
  for (const uint32_t p : kRankCounts) {
    const uint64_t n = 1 << 16;
    const double expected = ceil_log2(p) * (kAlpha + n * kBeta);
    EXPECT_EQ(simulated(of(CollectiveKind::kBroadcast, p), "binomial", n), expected) << p;
    EXPECT_EQ(simulated(of(CollectiveKind::kReduce, p), "binomial", n), expected) << p;
  }
}

TEST(ClosedForms, ChainBroadcastAndReduce) {
  for (const uint32_t p : kRankCounts) {
    for (const uint32_t k : {1u, 4u, 16u}) {
      const uint64_t n = 1 << 16;
      const double expected = (p - 2 + k) * (kAlpha + n / k * kBeta);
      EXPECT_EQ(simulated(of(CollectiveKind::kBroadcast, p), "chain", n, {.chunks = k}), expected);
      EXPECT_EQ(simulated(of(CollectiveKind::kReduce, p), "chain", n, {.chunks = k}), expected);
    }
  }
}

TEST(ClosedForms, TreeAndRing) {
  for (const uint32_t p : kRankCounts) {
    const uint64_t chunk = 4096;
    const double expected =
        (ceil_log2(p) + p - 1) * kAlpha + 2.0 * (p - 1) * static_cast<double>(chunk) * kBeta;
    EXPECT_EQ(simulated(of(CollectiveKind::kBroadcast, p), "scatter_all_gather", p * chunk),
              expected)
        << p;
    EXPECT_EQ(simulated(of(CollectiveKind::kReduce, p), "reduce_scatter_gather", p * chunk),
              expected)
        << p;
  }
}

TEST(ClosedForms, GatherAndScatter) {
  for (const uint32_t p : kRankCounts) {
    for (const auto kind : {CollectiveKind::kGather, CollectiveKind::kScatter}) {
      const uint64_t block = 4096;
      const double bytes = (p - 1) * static_cast<double>(block) * kBeta;
      EXPECT_EQ(simulated(of(kind, p), "direct", p * block), kAlpha + bytes) << p;
      EXPECT_EQ(simulated(of(kind, p), "binomial", p * block), ceil_log2(p) * kAlpha + bytes) << p;
    }
  }
}

TEST(ClosedForms, BarrierAndSendRecv) {
  for (const uint32_t p : kRankCounts) {
    EXPECT_EQ(simulated(of(CollectiveKind::kBarrier, p), "dissemination", 0),
              ceil_log2(p) * kAlpha);
    EXPECT_EQ(simulated(of(CollectiveKind::kBarrier, p), "direct", 0), p == 1 ? 0 : kAlpha);
    EXPECT_EQ(simulated(of(CollectiveKind::kSendRecv, p), "direct", 1 << 16),
              kAlpha + (1 << 16) * kBeta);
  }
}

TEST(ClosedForms, DirectBroadcastAndPulledReduce) {
  for (const uint32_t p : kRankCounts) {
    const double bytes = (p - 1) * 4096 * kBeta;
    EXPECT_DOUBLE_EQ(simulated(of(CollectiveKind::kBroadcast, p), "direct", 4096), kAlpha + bytes);
    EXPECT_DOUBLE_EQ(simulated(of(CollectiveKind::kReduce, p), "pull", 4096),
                     (p - 1) * kAlpha + bytes);
  }
}

TEST(ClosedForms, SpreadBroadcastAndReduce) {
  for (const uint32_t p : kRankCounts) {
    const uint64_t chunk = 4096;
    const double bytes = (p - 1) * static_cast<double>(chunk) * kBeta;
    EXPECT_DOUBLE_EQ(simulated(of(CollectiveKind::kBroadcast, p), "spread", p * chunk),
                     2 * kAlpha + 2 * bytes)
        << p;
    EXPECT_DOUBLE_EQ(simulated(of(CollectiveKind::kReduce, p), "spread", p * chunk),
                     p * kAlpha + 2 * bytes)
        << p;
  }
}

// Exact for powers of two; elsewhere the formula is an upper bound, by less than a third.
TEST(ClosedForms, DoubleTreeBroadcastIsAtMostItsFormulaAndNearIt) {
  for (const uint32_t p : rank_counts()) {
    for (const uint32_t k : {1u, 4u, 16u}) {
      if (p == 1) continue;
      const uint64_t n = 1 << 20;
      const double formula = (ceil_log2(p) - 1 + k) * (kAlpha + n / k * kBeta);
      const double ns =
          simulated(of(CollectiveKind::kBroadcast, p), "double_tree", n, {.chunks = k});
      EXPECT_LE(ns, formula) << p << " ranks, " << k << " pieces";
      EXPECT_GT(ns, 0.7 * formula) << p << " ranks, " << k << " pieces";
      EXPECT_TRUE(!std::has_single_bit(p) || ns == formula) << p << " ranks, " << k << " pieces";
    }
  }
}

}  // namespace
}  // namespace tutti::plan
