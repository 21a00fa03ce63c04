// Our times and SimGrid's for the same schedules on the same machines. With plain max-min sharing
// they must be equal up to 1e-5, SimGrid's own precision; with its weights by latency, up to 2 %.
// The differences are printed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "plan/algorithm.h"
#include "sim/simulate.h"
#include "tests/simgrid/replay.h"
#include "topo/open.h"

namespace tutti::simgrid {
namespace {

struct Case {
  CollectiveKind kind;
  const char* algorithm;
  const char* topology;
  uint32_t num_ranks;
  uint64_t bytes;
  Handover handover = Handover::kLending;
  plan::Options plan = {};
};

std::string name_of(const Case& c) {
  return fmt::format("{} {} of {} ranks on {}, {} bytes, {}", to_string(c.kind), c.algorithm,
                     c.num_ranks, c.topology, c.bytes,
                     c.handover == Handover::kLending ? "lending" : "slots");
}

constexpr CollectiveKind kAllReduce = CollectiveKind::kAllReduce;
constexpr CollectiveKind kAllGather = CollectiveKind::kAllGather;
constexpr CollectiveKind kReduceScatter = CollectiveKind::kReduceScatter;
constexpr CollectiveKind kBroadcast = CollectiveKind::kBroadcast;
constexpr CollectiveKind kReduce = CollectiveKind::kReduce;
constexpr CollectiveKind kAllToAll = CollectiveKind::kAllToAll;

// Kept apart by what they try: who shares which link, and for how long.
const Case kCases[] = {
    // Nobody shares anything.
    {kAllReduce, "ring", "mesh:8@25GB/s,700ns", 8, 1 << 20},
    {kAllReduce, "ring", "ring:13@25GB/s,700ns", 13, 999983},
    {kAllReduce, "ring", "dgx-h100", 8, 1 << 26},
    {kAllReduce, "recursive_doubling", "mesh:16@25GB/s,700ns", 16, 1 << 16},
    {kAllReduce, "rabenseifner", "switch:16@50GB/s,1us", 16, 1 << 22},
    {kAllToAll, "pairwise", "switch:9@50GB/s,1us", 9, 900000},
    {kBroadcast, "chain", "mesh:6@25GB/s,700ns", 6, 1 << 22, Handover::kLending, {.chunks = 16}},
    // Many flows share the way out of a rank or into it.
    {kBroadcast, "binomial", "switch:16@50GB/s,1us", 16, 1 << 20},
    {kAllReduce, "one_shot", "switch:8@50GB/s,1us", 8, 1 << 20},
    {kAllReduce, "two_shot", "dgx-a100", 8, 1 << 24},
    {kAllGather, "direct", "switch:12@50GB/s,1us", 12, 1200007},
    {kReduceScatter, "direct", "switch:7@50GB/s,1us", 7, 1 << 21},
    {kAllReduce,
     "double_tree",
     "switch:16@50GB/s,1us",
     16,
     1 << 22,
     Handover::kLending,
     {.chunks = 8}},
    {kReduce, "binomial", "switch:13@50GB/s,1us", 13, 1 << 20},
    // Ways of several links cross each other.
    {kAllReduce, "recursive_doubling", "ring:16@25GB/s,700ns", 16, 1 << 18},
    {kAllReduce, "rabenseifner", "torus:4x4@25GB/s,700ns", 16, 1 << 20},
    {kAllToAll, "pairwise", "torus:3x5@25GB/s,700ns", 15, 1500000},
    {kAllGather, "bruck", "ring:9@25GB/s,700ns", 9, 900001},
    {kAllReduce, "ring", "dgx-1v", 8, 1 << 22},
    {kAllReduce, "double_tree", "dgx-1v", 8, 1 << 22, Handover::kLending, {.chunks = 4}},
    // Machines on a network.
    {kAllReduce, "two_level", "dgx-a100*4", 32, 1 << 24, Handover::kLending, {.group_size = 8}},
    {kAllReduce, "ring", "dgx-h100*2", 16, 1 << 24},
    {kAllReduce, "double_tree", "dgx-a100*3", 24, 1 << 22, Handover::kLending, {.chunks = 4}},
    {kAllToAll, "two_level", "dgx-a100*2", 16, 1 << 20, Handover::kLending, {.group_size = 8}},
    // The same with slots.
    {kAllReduce, "ring", "ring:8@25GB/s,700ns", 8, 1 << 20, Handover::kSlots},
    {kBroadcast, "chain", "switch:6@50GB/s,1us", 6, 1 << 22, Handover::kSlots, {.chunks = 16}},
    {kAllReduce,
     "double_tree",
     "switch:16@50GB/s,1us",
     16,
     1 << 22,
     Handover::kSlots,
     {.chunks = 8}},
    {kAllGather, "direct", "switch:12@50GB/s,1us", 12, 1200007, Handover::kSlots},
    {kAllReduce, "two_level", "dgx-a100*4", 32, 1 << 24, Handover::kSlots, {.group_size = 8}},
    {kReduce, "chain", "torus:3x3@25GB/s,700ns", 9, 1 << 20, Handover::kSlots, {.chunks = 8}},
};

class SimGrid : public testing::TestWithParam<Case> {};

// The difference as a part of SimGrid's time; nan when one of the two failed.
double difference(const Case& c, Latency latency) {
  const auto failed = [](const std::string& message) {
    ADD_FAILURE() << message;
    return std::nan("");
  };
  const Collective collective{.kind = c.kind, .num_ranks = c.num_ranks};
  const Result<ir::Schedule> schedule = plan::make(collective, c.algorithm, c.plan);
  if (!schedule) return failed(schedule.error().message);
  const Result<topo::Topology> topology = topo::open(c.topology);
  if (!topology) return failed(topology.error().message);
  const bool slots = c.handover == Handover::kSlots;
  const sim::Options options{
      .bytes = c.bytes, .discipline = slots ? sim::Discipline::kSlots : sim::Discipline::kLending};
  const Result<sim::Report> ours = sim::simulate(*schedule, *topology, options);
  if (!ours) return failed(ours.error().message);
  const Result<double> theirs = replay(*schedule, *topology, {c.bytes, c.handover, latency});
  if (!theirs) return failed(theirs.error().message);
  const double part = ours->total_ns / *theirs - 1;
  fmt::print("{}: tutti {:.3f} us, SimGrid {:.3f} us, {:+.5f} %\n", name_of(c),
             ours->total_ns / 1e3, *theirs / 1e3, 100 * part);
  return part;
}

TEST_P(SimGrid, AgreesOnTheTotalTime) {
  EXPECT_LE(std::abs(difference(GetParam(), Latency::kSlept)), 1e-5) << name_of(GetParam());
}

TEST_P(SimGrid, NearlyAgreesWithLatencyOfItsOwn) {
  EXPECT_LE(std::abs(difference(GetParam(), Latency::kOfLinks)), 0.02) << name_of(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Cases, SimGrid, testing::ValuesIn(kCases));

}  // namespace
}  // namespace tutti::simgrid
