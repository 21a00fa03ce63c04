// How fast the simulator is: step events a second, time and peak memory, from 256 ranks to 27,600.
// Each row runs in a process of its own, so that its peak memory is its own.
//
//   sim_rate_bench [MAX_RANKS] [--json]
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "plan/algorithm.h"
#include "sim/simulate.h"
#include "topo/open.h"

namespace {

using namespace tutti;

struct Case {
  const char* algorithm;
  const char* topology;
  uint32_t num_ranks;
  uint64_t bytes;
  plan::Options plan;
};

struct Row {
  uint64_t num_steps;
  uint64_t num_messages;
  double simulated_us;
  double ratio;
  double wall_s;  // of simulate() alone
  double cpu_s;
  double before_gib;
  double peak_gib;
};

constexpr Case kCases[] = {
    {"ring", "switch:256@50GB/s,1us", 256, 1 << 26, {}},
    {"ring", "switch:1024@50GB/s,1us", 1024, 1 << 26, {}},
    {"two_level", "dgx-a100*128", 1024, 1 << 26, {.group_size = 8}},
    {"two_level", "dgx-a100*512", 4096, 1 << 26, {.group_size = 8}},
    {"two_level", "dgx-a100*3450", 27600, 1 << 26, {.group_size = 8}},
    {"double_tree", "dgx-a100*128", 1024, 1 << 26, {.chunks = 16}},
    {"double_tree", "dgx-a100*512", 4096, 1 << 26, {.chunks = 16}},
    {"double_tree", "dgx-a100*3450", 27600, 1 << 26, {.chunks = 16}},
};

double peak_gib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1 << 20);  // Linux counts in KiB
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](timeval t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::optional<Row> measure(const Case& c) {
  const Result<topo::Topology> topology = topo::open(c.topology);
  if (!topology) return fmt::print(stderr, "{}\n", topology.error().message), std::nullopt;
  const Collective collective{.kind = CollectiveKind::kAllReduce, .num_ranks = c.num_ranks};
  const Result<ir::Schedule> schedule = plan::make(collective, c.algorithm, c.plan);
  if (!schedule) return fmt::print(stderr, "{}\n", schedule.error().message), std::nullopt;
  Row row{};
  row.before_gib = peak_gib();
  const double cpu_before = cpu_seconds();
  const auto begin = std::chrono::steady_clock::now();
  const Result<sim::Report> report = sim::simulate(*schedule, *topology, {.bytes = c.bytes});
  row.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  row.cpu_s = cpu_seconds() - cpu_before;
  if (!report) return fmt::print(stderr, "{}\n", report.error().message), std::nullopt;
  row.peak_gib = peak_gib();
  row.num_steps = report->num_steps;
  row.num_messages = report->num_messages;
  row.simulated_us = report->total_ns / 1e3;
  row.ratio = report->ratio;
  return row;
}

// Runs `measure` in a child, which sends its row back through a pipe.
std::optional<Row> measure_apart(const Case& c) {
  int ends[2];
  if (pipe(ends) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child < 0) return std::nullopt;
  if (child == 0) {
    const std::optional<Row> row = measure(c);
    const bool sent = row && write(ends[1], &*row, sizeof *row) == sizeof *row;
    _exit(sent ? 0 : 1);
  }
  close(ends[1]);
  Row row{};
  const bool got = read(ends[0], &row, sizeof row) == sizeof row;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  if (!got) return std::nullopt;
  return row;
}

void print_row(const Case& c, const Row& row, bool json) {
  // Simulating is one thread that never waits: on a shared machine its CPU time is its speed.
  const double rate = static_cast<double>(row.num_steps) / row.cpu_s;
  if (json) {
    fmt::print(
        "{{\"collective\":\"all_reduce\",\"algorithm\":\"{}\",\"topology\":\"{}\",\"ranks\":{},"
        "\"bytes\":{},\"steps\":{},\"messages\":{},\"simulated_us\":{:.3f},\"ratio\":{:.3f},"
        "\"wall_s\":{:.3f},\"cpu_s\":{:.3f},\"steps_per_s\":{:.0f},\"schedule_gib\":{:.3f},\"peak_"
        "gib\":{:.3f}}}\n",
        c.algorithm, c.topology, c.num_ranks, c.bytes, row.num_steps, row.num_messages,
        row.simulated_us, row.ratio, row.wall_s, row.cpu_s, rate, row.before_gib, row.peak_gib);
  } else {
    fmt::print("{:12} {:24} {:6} {:10} {:10} {:12.1f} {:6.2f} {:8.3f} {:8.3f} {:10.2f} {:8.2f}\n",
               c.algorithm, c.topology, c.num_ranks, row.num_steps, row.num_messages,
               row.simulated_us, row.ratio, row.wall_s, row.cpu_s, rate / 1e6, row.peak_gib);
  }
}

}  // namespace

int main(int argc, char** argv) {
  uint32_t max_ranks = UINT32_MAX;
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) {
      json = true;
    } else {
      max_ranks = static_cast<uint32_t>(std::strtoul(argv[i], nullptr, 10));
    }
  }
  if (!json) {
    fmt::print("{:12} {:24} {:>6} {:>10} {:>10} {:>12} {:>6} {:>8} {:>8} {:>10} {:>8}\n",
               "all_reduce", "topology", "ranks", "steps", "messages", "simulated us", "ratio",
               "wall s", "cpu s", "Msteps/s", "peak GiB");
  }
  bool all_ran = true;
  for (const Case& c : kCases) {
    if (c.num_ranks > max_ranks) continue;
    const std::optional<Row> row = measure_apart(c);
    if (row) print_row(c, *row, json);
    all_ran &= row.has_value();
    std::fflush(stdout);
  }
  return all_ran ? 0 : 1;
}
