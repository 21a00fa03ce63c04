// all_reduce of ranks that share a GPU, from 64 KiB on: time of a call from the host, and rate
// against what the memory allows (every input read once, every output written once). Smaller ones
// are small_bench's.
//
// usage: all_reduce_bench RANKS [SECONDS [WORKERS]]
#include "bench/cuda/rank_data.h"
#include "bench/cuda/stages.h"

namespace tutti::bench {
namespace {

constexpr uint64_t kSizes[] = {64 << 10, 512 << 10, 4 << 20, 32 << 20, 256 << 20, 1 << 30};
constexpr uint64_t kMostCalls = 3000;

struct Timing {
  Times times;
  uint64_t num_calls = 0;
  uint64_t num_wrong = 0;
};

Timing measure(DeviceRanks& ranks, uint64_t bytes, double seconds) {
  static uint64_t first_id = 1;
  DeviceCollective what = ranks.load({CollectiveKind::kAllReduce, "pull", bytes / 4});
  const auto data = data_of_ranks(ranks.num_ranks(), bytes / 4);
  Agreement agreement;
  Timing out;
  std::vector<double> times;
  std::atomic<uint64_t> next_id = 0;
  ranks.run([&](uint32_t r, std::barrier<>& all) {
    uint64_t id = first_id;
    all.arrive_and_wait();
    auto mine = time_calls(
        seconds, kMostCalls, [&](uint64_t value) { return agreement(r, all, value); },
        [&] { ranks.wait(r, ranks.submit(r, what, id++, data[r]->input(), data[r]->output())); });
    if (r != 0) return;
    times = std::move(mine);
    next_id = id;
  });
  out.num_calls = next_id - first_id;
  first_id = next_id;
  out.times = times_of(std::move(times));
  out.num_wrong = num_wrong_of(data);
  return out;
}

int run(const Options& options) {
  begin_phase("making daemons");
  const auto num_workers = static_cast<uint32_t>(std::atoi(options.word.c_str()));
  DeviceRanks ranks(options.num_ranks, num_workers);
  std::printf("%u ranks, %u workers each\n", ranks.num_ranks(), ranks.daemon(0).num_workers());
  std::printf("%12s %10s %10s %8s %8s %8s\n", "bytes", "p50 us", "p99 us", "GB/s", "of HBM",
              "#wrong");
  uint64_t num_wrong = 0;
  for (const uint64_t bytes : kSizes) {
#if defined(TUTTI_DAEMON_STAGES)
    const engine::cuda::Stages before = stages_of(ranks);
#endif
    begin_phase("all_reduce");
    const Timing timing = measure(ranks, bytes, options.seconds / std::size(kSizes));
    const double limit_us = 2.0 * ranks.num_ranks() * static_cast<double>(bytes) / kCopyBytesPerUs;
    std::printf("%12lu %10.2f %10.2f %8.1f %8.3f %8lu\n", bytes, timing.times.p50, timing.times.p99,
                static_cast<double>(bytes) / timing.times.p50 / 1e3, limit_us / timing.times.p50,
                timing.num_wrong);
#if defined(TUTTI_DAEMON_STAGES)
    print_stages(ranks, before, timing.num_calls);
#endif
    num_wrong += timing.num_wrong;
  }
  begin_phase("the end");
  return num_wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tutti::bench

int main(int argc, char** argv) {
  return tutti::bench::run(tutti::bench::begin(argc, argv, {}, " [WORKERS]"));
}
