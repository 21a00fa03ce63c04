// `quick` with its limits beside every trial: what the limits save, and what they cost.
//
//   quick_bench [TOPOLOGY]   torus:5x5 takes most of the time
//
// Times are CPU seconds of one core.
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "plan/quick.h"
#include "topo/open.h"

namespace {

using namespace tutti;

constexpr const char* kTopologies[] = {"dgx-1v", "torus:3x3", "dgx-2",
                                       "ndv2*2", "torus:4x4", "torus:5x5"};
constexpr CollectiveKind kKinds[] = {CollectiveKind::kAllGather, CollectiveKind::kAllReduce,
                                     CollectiveKind::kBroadcast};
constexpr uint64_t kSizes[] = {4 << 10, 1 << 20, 64 << 20};

struct Timed {
  plan::PackedPlan plan;
  double seconds = 0;
};

Timed timed(const Collective& collective, const topo::Topology& topology, uint64_t bytes,
            const plan::QuickLimits& limits) {
  const std::clock_t before = std::clock();
  Timed result{plan::plan_quick(collective, topology, 0, bytes, limits).value()};
  result.seconds = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  return result;
}

void print_rows(const char* name) {
  const topo::Topology topology = topo::open(name).value();
  for (const CollectiveKind kind : kKinds) {
    for (const uint64_t bytes : kSizes) {
      const Collective collective{kind, topology.num_ranks()};
      const Timed few = timed(collective, topology, bytes, {});
      const Timed all = timed(collective, topology, bytes, plan::kExhaustive);
      fmt::print("{:<11}{:<11}{:>9}{:>8}{:>12.1f}{:>8.2f}{:>8}{:>12.1f}{:>9.2f}{:>9.3f}\n", name,
                 to_string(kind), bytes, few.plan.chunks, few.plan.ns * 1e-3, few.seconds,
                 all.plan.chunks, all.plan.ns * 1e-3, all.seconds, few.plan.ns / all.plan.ns);
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  fmt::print("{:<11}{:<11}{:>9}{:>8}{:>12}{:>8}{:>8}{:>12}{:>9}{:>9}\n", "topology", "collective",
             "bytes", "chunks", "quick us", "cpu s", "chunks", "all us", "cpu s", "to all");
  for (const char* const name : kTopologies) {
    if (argc < 2 || std::strcmp(argv[1], name) == 0) print_rows(name);
  }
}
