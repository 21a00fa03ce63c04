// all_reduce of ranks that share a GPU: time of a call from the host, and rate against what the
// memory allows (every input read once, every output written once).
//
// usage: all_reduce_bench RANKS [WORKERS]
#include <algorithm>
#include <string>

#include "bench/cuda/device_ranks.h"
#include "engine/cuda/stream.h"
#include "engine/cuda/watch.h"

namespace tutti::bench {
namespace {

// Enough for a median, and not more than a few seconds.
uint64_t rounds_of(uint64_t bytes) {
  return std::clamp<uint64_t>((uint64_t{2} << 30) / bytes, 20, 3000);
}
constexpr uint64_t kWarmUp = 20;

constexpr uint64_t kSizes[] = {8,         64,      512,      4 << 10,   64 << 10,
                               512 << 10, 4 << 20, 32 << 20, 256 << 20, 1 << 30};

void fill(float* at, uint64_t elems, uint32_t rank) {
  std::vector<float> values(elems);
  for (uint64_t i = 0; i < elems; ++i) values[i] = static_cast<float>((i * 7 + rank * 13) % 101);
  TUTTI_CUDA_CHECK(cudaMemcpy(at, values.data(), elems * 4, cudaMemcpyHostToDevice));
}

uint64_t count_wrong(const float* at, uint64_t elems, uint32_t num_ranks) {
  std::vector<float> values(elems);
  TUTTI_CUDA_CHECK(cudaMemcpy(values.data(), at, elems * 4, cudaMemcpyDeviceToHost));
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < elems; ++i) {
    float sum = 0;
    for (uint32_t r = 0; r < num_ranks; ++r) sum += static_cast<float>((i * 7 + r * 13) % 101);
    wrong += values[i] == sum ? 0 : 1;
  }
  return wrong;
}

#if defined(TUTTI_DAEMON_STAGES)
engine::cuda::Stages stages_of(DeviceRanks& ranks) {
  ranks.daemon(0).leave();
  engine::cuda::Stages stages{};
  TUTTI_CUDA_CHECK(cudaDeviceSynchronize());
  TUTTI_CUDA_CHECK(
      cudaMemcpy(&stages, &ranks.daemon(0).state()->stages, sizeof stages, cudaMemcpyDeviceToHost));
  return stages;
}
#endif

struct Timing {
  double p50_us;
  double p99_us;
  uint64_t wrong;
};

Timing measure(DeviceRanks& ranks, std::string_view algorithm, uint64_t bytes) {
  const uint64_t elems = bytes / 4;
  const uint32_t n = ranks.num_ranks();
  DeviceCollective what = ranks.load({CollectiveKind::kAllReduce, algorithm, elems});
  std::vector<float*> inputs(n);
  std::vector<float*> outputs(n);
  for (uint32_t r = 0; r < n; ++r) {
    TUTTI_CUDA_CHECK(cudaMalloc(&inputs[r], bytes));
    TUTTI_CUDA_CHECK(cudaMalloc(&outputs[r], bytes));
    fill(inputs[r], elems, r);
    TUTTI_CUDA_CHECK(cudaMemset(outputs[r], 0xff, bytes));
  }
  const uint64_t rounds = rounds_of(bytes);
  std::vector<double> times(rounds);
  static uint64_t next_id = 1;
  const uint64_t first_id = next_id;
  next_id += rounds + kWarmUp;
  ranks.run([&](uint32_t r, std::barrier<>& all) {
    all.arrive_and_wait();
    for (uint64_t i = 0; i < rounds + kWarmUp; ++i) {
      const double begin = now_us();
      ranks.wait(r, ranks.submit(r, what, first_id + i, inputs[r], outputs[r]));
      if (r == 0 && i >= kWarmUp) times[i - kWarmUp] = now_us() - begin;
    }
  });
  Timing out{};
  for (uint32_t r = 0; r < n; ++r) {
    out.wrong += count_wrong(outputs[r], elems, n);
    TUTTI_CUDA_CHECK(cudaFree(inputs[r]));
    TUTTI_CUDA_CHECK(cudaFree(outputs[r]));
  }
  std::sort(times.begin(), times.end());
  out.p50_us = times[rounds / 2];
  out.p99_us = times[rounds * 99 / 100];
  return out;
}

#if defined(TUTTI_DAEMON_STAGES)
// What the leader of rank 0 spends on one operation, in ns; clock at 1.98 GHz.
void print_stages(DeviceRanks& ranks, const engine::cuda::Stages& before, uint64_t num) {
  static constexpr const char* kNames[] = {"look",  "take", "issue", "greet", "hear",
                                           "start", "run",  "fold",  "end"};
  const engine::cuda::Stages after = stages_of(ranks);
  for (uint32_t i = 0; i < engine::cuda::kNumStages; ++i) {
    std::printf("  %s %.0f (%.1f)", kNames[i],
                static_cast<double>(after.cycles[i] - before.cycles[i]) / 1.98 / num,
                static_cast<double>(after.times[i] - before.times[i]) / num);
  }
  std::printf("\n");
}
#endif

// Through a stream: a call and a wait for the stream, p50; and calls one behind the other, mean.
void measure_streams(DeviceRanks& ranks, uint64_t bytes) {
  constexpr uint64_t kRounds = 1000;
  DeviceCollective what = ranks.load({CollectiveKind::kAllReduce, "pull_all", bytes / 4});
  engine::cuda::Watch watch;
  std::vector<double> times(kRounds);
  double behind_us = 0;
  ranks.run([&](uint32_t r, std::barrier<>& all) {
    cudaStream_t stream = nullptr;
    float* input = nullptr;
    float* output = nullptr;
    TUTTI_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    TUTTI_CUDA_CHECK(cudaMalloc(&input, bytes));
    TUTTI_CUDA_CHECK(cudaMalloc(&output, bytes));
    auto ordered = engine::cuda::Stream::create(ranks.device(), ranks.daemon(r), watch);
    const auto call = [&](uint64_t id) {
      auto request = DeviceRanks::request(r, what, id, input, output);
      const Status done = ordered.value()->submit({.stream = stream, .requests = {&request, 1}});
      if (done) return;
      std::fprintf(stderr, "%s\n", done.error().message.c_str());
      std::_Exit(1);
    };
    all.arrive_and_wait();
    for (uint64_t i = 0; i < kRounds + kWarmUp; ++i) {
      const double begin = now_us();
      call((uint64_t{1} << 32) + i);
      TUTTI_CUDA_CHECK(cudaStreamSynchronize(stream));
      if (r == 0 && i >= kWarmUp) times[i - kWarmUp] = now_us() - begin;
    }
    all.arrive_and_wait();
    const double begin = now_us();
    for (uint64_t i = 0; i < kRounds; ++i) call((uint64_t{2} << 32) + i);
    TUTTI_CUDA_CHECK(cudaStreamSynchronize(stream));
    if (r == 0) behind_us = (now_us() - begin) / kRounds;
    watch.wait_for_all();
    TUTTI_CUDA_CHECK(cudaStreamDestroy(stream));
    TUTTI_CUDA_CHECK(cudaFree(input));
    TUTTI_CUDA_CHECK(cudaFree(output));
  });
  std::sort(times.begin(), times.end());
  std::printf(
      "%12lu through a stream: call and wait %.2f us p50, %.2f us p99; one behind the other "
      "%.2f us\n",
      bytes, times[kRounds / 2], times[kRounds * 99 / 100], behind_us);
  std::fflush(stdout);
}

void run(uint32_t num_ranks, uint32_t num_workers) {
  DeviceRanks ranks(num_ranks, num_workers);
  std::printf("%u ranks, %u workers each\n", num_ranks, ranks.daemon(0).num_workers());
  measure_streams(ranks, 8);
  std::printf("%12s %10s %10s %10s %8s %8s %8s\n", "bytes", "algorithm", "p50 us", "p99 us", "GB/s",
              "of HBM", "#wrong");
  for (const uint64_t bytes : kSizes) {
    for (const std::string_view algorithm : {"pull_all", "pull"}) {
      if (algorithm == "pull_all" && bytes > (64 << 10)) continue;
      if (algorithm == "pull" && bytes < 512) continue;
#if defined(TUTTI_DAEMON_STAGES)
      const engine::cuda::Stages before = stages_of(ranks);
#endif
      const Timing timing = measure(ranks, algorithm, bytes);
      const double limit_us = 2.0 * num_ranks * static_cast<double>(bytes) / kCopyBytesPerUs;
      std::printf("%12lu %10s %10.2f %10.2f %8.1f %8.3f %8lu\n", bytes,
                  std::string(algorithm).c_str(), timing.p50_us, timing.p99_us,
                  static_cast<double>(bytes) / timing.p50_us / 1e3, limit_us / timing.p50_us,
                  timing.wrong);
#if defined(TUTTI_DAEMON_STAGES)
      print_stages(ranks, before, rounds_of(bytes) + kWarmUp);
#endif
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace tutti::bench

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s RANKS [WORKERS]\n", argv[0]);
    return 2;
  }
  tutti::bench::run(static_cast<uint32_t>(std::atoi(argv[1])),
                    argc > 2 ? static_cast<uint32_t>(std::atoi(argv[2])) : 0);
}
