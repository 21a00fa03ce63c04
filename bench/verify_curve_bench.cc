// How the cost of a proof grows: ring all_reduce from 64 ranks up, each verified under both
// disciplines and both placements, in a process of its own so that its peak memory is its own.
//
//   verify_curve_bench [MAX_RANKS] [--json]      4096 ranks are 33.5 million steps
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/algorithm.h"
#include "verify/check.h"

namespace {

using namespace tutti;

struct Row {
  uint64_t num_ranks;
  uint64_t num_steps;
  double wall_s;  // of the proof alone
  double cpu_s;
  double schedule_gib;  // peak memory before the proof
  double peak_gib;
};

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](timeval t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double peak_gib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1 << 20);  // Linux counts in KiB
}

std::optional<Row> measure(uint32_t num_ranks) {
  Result<ir::Schedule> schedule =
      plan::make({CollectiveKind::kAllReduce, num_ranks}, "ring", {.chunks = 0});
  if (!schedule) {
    fmt::print(stderr, "{}\n", schedule.error().message);
    return std::nullopt;
  }
  Row row{num_ranks, ir::num_steps(*schedule), 0, 0, peak_gib(), 0};
  const double cpu_before = cpu_seconds();
  const auto begin = std::chrono::steady_clock::now();
  const verify::Verdict verdict = verify::check(*std::move(schedule));
  row.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  row.cpu_s = cpu_seconds() - cpu_before;
  row.peak_gib = peak_gib();
  if (!verdict.proved()) {
    fmt::print(stderr, "{}\n", verdict.refusal().message);
    return std::nullopt;
  }
  return row;
}

// Runs `measure` in a child, which sends its row back through a pipe.
std::optional<Row> measure_apart(uint32_t num_ranks) {
  int ends[2];
  if (pipe(ends) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child < 0) return std::nullopt;
  if (child == 0) {
    const std::optional<Row> row = measure(num_ranks);
    const bool sent = row && write(ends[1], &*row, sizeof *row) == sizeof *row;
    _exit(sent ? 0 : 1);
  }
  close(ends[1]);
  Row row{};
  // Liveness: the pipe ends when the child does.
  const bool received = read(ends[0], &row, sizeof row) == sizeof row;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return received ? std::optional(row) : std::nullopt;
}

void print(const Row& row, bool as_json) {
  const double ns_per_step = row.cpu_s * 1e9 / static_cast<double>(row.num_steps);
  const double steps_per_s = static_cast<double>(row.num_steps) / row.wall_s;
  if (as_json) {
    fmt::print(
        "{{\"ranks\": {}, \"steps\": {}, \"wall_s\": {:.3f}, \"cpu_s\": {:.3f}, \"steps_per_s\": "
        "{:.0f}, \"cpu_ns_per_step\": {:.0f}, \"schedule_gib\": {:.3f}, \"peak_gib\": {:.3f}}}\n",
        row.num_ranks, row.num_steps, row.wall_s, row.cpu_s, steps_per_s, ns_per_step,
        row.schedule_gib, row.peak_gib);
  } else {
    fmt::print("{:>6} {:>10} {:>9.3f} {:>9.3f} {:>12.0f} {:>12.0f} {:>12.3f} {:>9.3f}\n",
               row.num_ranks, row.num_steps, row.wall_s, row.cpu_s, steps_per_s, ns_per_step,
               row.schedule_gib, row.peak_gib);
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  uint32_t max_ranks = 4096;
  bool as_json = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) {
      as_json = true;
    } else {
      max_ranks = static_cast<uint32_t>(std::strtoul(argv[i], nullptr, 10));
    }
  }
  if (!as_json) {
    fmt::print("{:>6} {:>10} {:>9} {:>9} {:>12} {:>12} {:>12} {:>9}\n", "ranks", "steps", "wall_s",
               "cpu_s", "steps/s", "cpu ns/step", "schedule GiB", "peak GiB");
  }
  for (uint32_t num_ranks = 64; num_ranks <= max_ranks; num_ranks *= 2) {
    const std::optional<Row> row = measure_apart(num_ranks);
    if (!row) return 1;
    print(*row, as_json);
  }
  return 0;
}
