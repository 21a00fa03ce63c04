// The costs that the algorithms without a root state, against the simulator, which shares links:
// each rank has one port of 8 GB/s each way, reduces at 16 GB/s, and every message has a latency of
// 512 ns. Times are whole numbers of ns, so equality is exact.
#include <gtest/gtest.h>

#include <bit>

#include "plan/algorithm.h"
#include "sim/simulate.h"
#include "tests/unit/plan/expect_proved.h"
#include "topo/machines.h"

namespace tutti::plan {
namespace {

constexpr double kRootlessAlpha = 512;
constexpr double kRootlessBeta = 1.0 / 8;
constexpr double kGamma = 1.0 / 16;
constexpr uint32_t kRootlessRankCounts[] = {2, 3, 5, 8, 13, 16, 33};
constexpr uint32_t kPowersOfTwo[] = {2, 4, 8, 32};
constexpr uint64_t kBlock = 4096;  // bytes; n is p of them
constexpr double kMove = kBlock * kRootlessBeta;
constexpr double kReduce = kBlock * kGamma;

double simulated_rootless(CollectiveKind kind, uint32_t p, std::string_view algorithm,
                          const Options& options = {}) {
  topo::Topology topology =
      topo::make_machine("switch:" + std::to_string(p) + "@8GB/s,512ns").value();
  for (topo::Node& node : topology.nodes) node.reduce_gbps = 1 / kGamma;
  sim::Options conditions;
  conditions.bytes = p * kBlock;
  const Collective collective{.kind = kind, .num_ranks = p};
  return sim::simulate(make(collective, algorithm, options).value(), topology, conditions)
      .value()
      .total_ns;
}

double all_reduce(uint32_t p, std::string_view algorithm, const Options& options = {}) {
  return simulated_rootless(CollectiveKind::kAllReduce, p, algorithm, options);
}
double all_gather(uint32_t p, std::string_view algorithm) {
  return simulated_rootless(CollectiveKind::kAllGather, p, algorithm);
}
double reduce_scatter(uint32_t p, std::string_view algorithm) {
  return simulated_rootless(CollectiveKind::kReduceScatter, p, algorithm);
}
double all_to_all(uint32_t p, std::string_view algorithm, const Options& options = {}) {
  return simulated_rootless(CollectiveKind::kAllToAll, p, algorithm, options);
}

TEST(RootlessClosedForms, OneMessageAtATime) {
  for (const uint32_t p : kRootlessRankCounts) {
    const double others = p - 1;
    EXPECT_EQ(all_reduce(p, "ring"), 2 * others * (kRootlessAlpha + kMove) + others * kReduce) << p;
    EXPECT_EQ(all_gather(p, "ring"), others * (kRootlessAlpha + kMove)) << p;
    EXPECT_EQ(reduce_scatter(p, "ring"), others * (kRootlessAlpha + kMove + kReduce)) << p;
    EXPECT_EQ(reduce_scatter(p, "pairwise"), others * (kRootlessAlpha + kMove + kReduce)) << p;
    EXPECT_EQ(reduce_scatter(p, "pull"), others * (kRootlessAlpha + kMove + kReduce)) << p;
    EXPECT_DOUBLE_EQ(all_reduce(p, "pull"), p * kRootlessAlpha + others * (2 * kMove + kReduce))
        << p;
    EXPECT_EQ(all_to_all(p, "pairwise"), others * (kRootlessAlpha + kMove)) << p;
  }
}

// A link shared by 7 messages gives each a rate that is no binary fraction: equal but for rounding.
TEST(RootlessClosedForms, AllMessagesAtOnce) {
  for (const uint32_t p : kRootlessRankCounts) {
    const double others = p - 1;
    EXPECT_DOUBLE_EQ(all_gather(p, "direct"), kRootlessAlpha + others * kMove) << p;
    EXPECT_DOUBLE_EQ(all_to_all(p, "direct"), kRootlessAlpha + others * kMove) << p;
    EXPECT_DOUBLE_EQ(reduce_scatter(p, "direct"), kRootlessAlpha + others * (kMove + kReduce)) << p;
    EXPECT_DOUBLE_EQ(all_reduce(p, "one_shot"), kRootlessAlpha + others * p * (kMove + kReduce))
        << p;
    EXPECT_DOUBLE_EQ(all_reduce(p, "two_shot"), 2 * kRootlessAlpha + others * (2 * kMove + kReduce))
        << p;
  }
}

TEST(RootlessClosedForms, HalvingAndDoubling) {
  for (const uint32_t p : kPowersOfTwo) {
    const double rounds = ceil_log2(p);
    const double others = p - 1;
    EXPECT_EQ(all_gather(p, "recursive_doubling"), rounds * kRootlessAlpha + others * kMove) << p;
    EXPECT_EQ(reduce_scatter(p, "recursive_halving"),
              rounds * kRootlessAlpha + others * (kMove + kReduce));
    EXPECT_EQ(all_reduce(p, "rabenseifner"),
              2 * rounds * kRootlessAlpha + others * (2 * kMove + kReduce));
    EXPECT_EQ(all_reduce(p, "recursive_doubling"),
              rounds * (kRootlessAlpha + p * (kMove + kReduce)));
  }
}

// What the files promise when p is no power of two.
TEST(RootlessClosedForms, HalvingAndDoublingOfAnyRanks) {
  for (uint32_t p = 3; p <= 70; ++p) {
    const double rounds = ceil_log2(p);
    const double others = p - 1;
    EXPECT_LE(all_gather(p, "recursive_doubling"), rounds * kRootlessAlpha + (others + p) * kMove)
        << p;
    const double more = others + 0.75 * p;
    EXPECT_LE(reduce_scatter(p, "recursive_halving"),
              (rounds + 4) * kRootlessAlpha + more * (kMove + kReduce))
        << p;
    EXPECT_LE(all_reduce(p, "rabenseifner"),
              (2 * rounds + 4) * kRootlessAlpha + more * (2 * kMove + kReduce))
        << p;
  }
  for (const uint32_t p : {3u, 5u, 13u, 33u}) {
    const double whole = p * kMove;
    EXPECT_EQ(all_reduce(p, "recursive_doubling"),
              floor_log2(p) * (kRootlessAlpha + whole + p * kReduce) +
                  2 * (kRootlessAlpha + whole) + p * kReduce);
  }
}

TEST(RootlessClosedForms, BruckAndNeighborExchange) {
  for (const uint32_t p : kRootlessRankCounts) {
    EXPECT_EQ(all_gather(p, "bruck"), ceil_log2(p) * kRootlessAlpha + (p - 1) * kMove) << p;
    EXPECT_EQ(all_gather(p, "neighbor_exchange"), p / 2 * kRootlessAlpha + (p - 1) * kMove) << p;
  }
  for (const uint32_t p : kPowersOfTwo) {
    EXPECT_EQ(all_to_all(p, "bruck"), ceil_log2(p) * (kRootlessAlpha + p / 2 * kMove)) << p;
  }
  EXPECT_EQ(all_to_all(27, "bruck", {.radix = 3}), 3 * 2 * (kRootlessAlpha + 9 * kMove));
}

// Here inside and across are the same network.
TEST(RootlessClosedForms, TwoLevels) {
  for (const uint32_t g : {2u, 3u, 8u}) {
    for (const uint32_t n : {2u, 4u}) {
      const Options options{.group_size = g};
      EXPECT_EQ(all_reduce(g * n, "two_level", options),
                (2 * (g - 1) + 2 * ceil_log2(n)) * kRootlessAlpha +
                    (g - 1) * n * (2 * kMove + kReduce) + (n - 1) * (2 * kMove + kReduce));
      EXPECT_EQ(all_to_all(g * n, "two_level", options),
                (n - 1) * (kRootlessAlpha + g * kMove) + (g - 1) * (kRootlessAlpha + n * kMove));
    }
  }
}

TEST(RootlessClosedForms, DoubleTreeAllReduceIsAtMostItsFormulaAndNearIt) {
  for (const uint32_t p : {3u, 5u, 8u, 13u, 16u, 33u}) {
    for (const uint32_t k : {8u, 32u}) {
      const double piece = 2 * kRootlessAlpha + p * (2 * kMove + kReduce) / k;
      const double formula = (1.5 * floor_log2(p) + k) * piece;
      const double ns = all_reduce(p, "double_tree", {.chunks = k});
      EXPECT_LE(ns, formula) << p << " ranks, " << k << " pieces";
      EXPECT_GT(ns, 0.7 * formula) << p << " ranks, " << k << " pieces";
    }
  }
}

}  // namespace
}  // namespace tutti::plan
