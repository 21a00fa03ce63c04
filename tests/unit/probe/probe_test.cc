#include "topo/probe/probe.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>

namespace tutti::topo {
namespace {

// Few turns and small copies: what is tested is that the pair meets and ends.
ProbeOptions quick() {
  return {.max_cores = 3,
          .num_batches = 3,
          .round_trips = 20,
          .copy_bytes = 1000,
          .limit = std::chrono::milliseconds(20000)};
}

TEST(Probe, MeasuresEveryPairOfTheCoresItChose) {
  const auto topology = probe(quick());
  ASSERT_TRUE(topology.ok()) << topology.error().message;
  EXPECT_TRUE(check(*topology).ok());
  const uint32_t n = topology->num_ranks();
  EXPECT_EQ(n, std::min<size_t>(3, usable_cores().size()));
  EXPECT_EQ(topology->links.size(), size_t{n} * (n - 1));
  for (const Link& link : topology->links) {
    EXPECT_GT(link.gbps, 0);
    EXPECT_GT(link.latency_ns, 0);
  }
}

TEST(Probe, EndsWhenBothSidesShareACore) {
  const uint32_t core = usable_cores().at(0);
  EXPECT_TRUE(measure_pair(core, core, quick()).ok());
}

TEST(Probe, SaysWhenItCannotRunOnACore) {
  const auto result = measure_pair(usable_cores().at(0), CPU_SETSIZE - 1, quick());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kIo);
}

TEST(Probe, GivesUpAtItsDeadline) {
  ProbeOptions options = quick();
  options.round_trips = 1u << 30;
  options.limit = std::chrono::milliseconds(0);
  const uint32_t core = usable_cores().at(0);
  const auto result = measure_pair(core, core, options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kDeadline);
}

}  // namespace
}  // namespace tutti::topo
