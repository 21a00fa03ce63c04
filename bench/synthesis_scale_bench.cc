// Greedy synthesis: how its time grows with the number of ranks, and what its schedules are worth.
//
//   synthesis_scale_bench [MAX_RANKS [TOPOLOGY [COLLECTIVE]]]   up to 1,100 ranks; 10000 take an
//   hour or more
//
// The curve counts the messages of a synthesis without writing them down (beyond some 8,000 ranks
// no schedule could hold them), in CPU seconds of one core. Each row has a process of its own, so
// that its peak memory is its own. `to bound`: the time planned over the largest known bound.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "plan/algorithm.h"
#include "plan/packing/all_to_all_bound.h"
#include "plan/synth/greedy_plan.h"
#include "sim/simulate.h"
#include "topo/open.h"

namespace {

using namespace tutti;

struct Case {
  const char* topology;
  uint32_t num_ranks;
};
constexpr Case kCases[] = {{"mesh:16", 16},
                           {"mesh:64", 64},
                           {"mesh:256", 256},
                           {"mesh:1024", 1024},
                           {"grid:4x4", 16},
                           {"grid:8x8", 64},
                           {"grid:16x16", 256},
                           {"grid:32x32", 1024},
                           {"grid:64x64", 4096},
                           {"grid:100x100", 10000},
                           {"torus:4x4", 16},
                           {"torus:8x8", 64},
                           {"torus:16x16", 256},
                           {"torus:32x32", 1024},
                           {"torus:64x64", 4096},
                           {"torus:100x100", 10000},
                           {"rail:dgx-h100*2", 16},
                           {"rail:dgx-h100*8", 64},
                           {"rail:dgx-h100*32", 256},
                           {"rail:dgx-h100*128", 1024},
                           {"rail:dgx-h100*512", 4096},
                           {"rail:dgx-h100*1250", 10000}};
constexpr CollectiveKind kKinds[] = {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                                     CollectiveKind::kAllReduce, CollectiveKind::kAllToAll};
constexpr uint32_t kMaxRanks = 1100;
// A bound of all_to_all is sought longer than a user would wait for it.
constexpr int kBoundRounds = 3;
constexpr uint64_t kBytesARank = 1 << 20;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void print_row(const Case& at, CollectiveKind kind) {
  const topo::Topology topology = topo::open(at.topology).value();
  const Collective collective{kind, topology.num_ranks()};
  plan::synth::GreedyOptions options;
  options.bytes = kBytesARank * topology.num_ranks();
  const double before = cpu_seconds();
  const auto count = plan::synth::count_greedy(collective, topology, options).value();
  const double seconds = cpu_seconds() - before;
  double bound_ns = plan::synth::bound_for(collective, topology, options.bytes).value().ns;
  if (kind == CollectiveKind::kAllToAll) {
    const auto ways = plan::packing::all_to_all_bound(topology, options.bytes, kBoundRounds);
    bound_ns = std::max(bound_ns, ways.ns);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("{:<20}{:>7}  {:<15}{:>11}{:>10.2f}{:>10.3f}{:>10.3f}\n", at.topology,
             topology.num_ranks(), to_string(kind), count.num_messages, seconds,
             static_cast<double>(usage.ru_maxrss) / (1 << 20), count.planned_ns / bound_ns);
  std::fflush(stdout);
}

void print_row_apart(const Case& at, CollectiveKind kind) {
  const pid_t child = fork();
  if (child == 0) {
    print_row(at, kind);
    _exit(0);
  }
  // Liveness: the child ends when its row is printed.
  waitpid(child, nullptr, 0);
}

double simulated(const ir::Schedule& schedule, const topo::Topology& topology, uint64_t bytes) {
  sim::Options options;
  options.bytes = bytes;
  options.with_critical_path = false;
  return sim::simulate(schedule, topology, options).value().total_ns;
}

// The classic schedule that a library without synthesis would run: rings, pairwise for all_to_all.
double classic_ns(const Collective& collective, const topo::Topology& topology, uint64_t bytes) {
  const bool is_all_to_all = collective.kind == CollectiveKind::kAllToAll;
  std::optional<double> best;
  for (const uint32_t chunks : {1, 2, 4, 8}) {
    const auto schedule = is_all_to_all ? plan::make(collective, "pairwise", {})
                                        : plan::make(collective, "ring", {.chunks = chunks});
    const double ns = simulated(schedule.value(), topology, bytes);
    if (!best || ns < *best) best = ns;
    if (is_all_to_all) break;
  }
  return *best;
}

void print_quality(const char* name, CollectiveKind kind) {
  const topo::Topology topology = topo::open(name).value();
  const Collective collective{kind, topology.num_ranks()};
  for (const uint64_t bytes :
       {uint64_t{1} << 16, uint64_t{1} << 20, uint64_t{1} << 24, uint64_t{1} << 28}) {
    plan::synth::GreedyOptions options;
    options.bytes = bytes;
    options.chunks = 0;
    const auto plan = plan::synth::plan_greedy(collective, topology, options).value();
    const double classic = classic_ns(collective, topology, bytes);
    fmt::print("{:<20}{:<15}{:>11}{:>7}{:>12.1f}{:>12.1f}{:>8.2f}{:>10.3f}\n", name,
               to_string(kind), bytes, plan.chunks, plan.ns() * 1e-3, classic * 1e-3,
               classic / plan.ns(), plan.ns() / plan.bound_ns);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const uint32_t max_ranks =
      argc > 1 ? static_cast<uint32_t>(std::strtoul(argv[1], nullptr, 10)) : kMaxRanks;
  fmt::print("{:<20}{:>7}  {:<15}{:>11}{:>10}{:>10}{:>10}\n", "topology", "ranks", "collective",
             "messages", "cpu s", "peak GiB", "to bound");
  std::fflush(stdout);
  for (const CollectiveKind kind : kKinds) {
    if (argc > 3 && argv[3] != to_string(kind)) continue;
    for (const Case& at : kCases) {
      if (argc > 2 && std::strcmp(argv[2], at.topology) != 0) continue;
      if (at.num_ranks > max_ranks) continue;
      print_row_apart(at, kind);
    }
  }
  if (argc > 2) return 0;
  fmt::print("\n{:<20}{:<15}{:>11}{:>7}{:>12}{:>12}{:>8}{:>10}\n", "topology", "collective",
             "bytes", "chunks", "greedy us", "classic us", "gain", "to bound");
  for (const char* const name : {"ndv2*2", "dgx-2*2"}) {
    for (const CollectiveKind kind : {CollectiveKind::kAllToAll, CollectiveKind::kAllReduce}) {
      print_quality(name, kind);
    }
  }
}
