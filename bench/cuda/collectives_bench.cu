// Large collectives of ranks that share a GPU, against the least bytes that each must read and
// write.
//
// usage: collectives_bench RANKS
#include <algorithm>

#include "bench/cuda/device_ranks.h"

namespace tutti::bench {
namespace {

constexpr uint32_t kRounds = 15;
constexpr uint32_t kWarmUp = 3;

// Every byte of an input that is needed is read once, every byte of an output written once; `row`
// is what ir/sizes.h calls a row.
double least_bytes(CollectiveKind kind, double row, double num_ranks) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kAllToAll: return 2 * num_ranks * row;
    case CollectiveKind::kReduce:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter: return (num_ranks + 1) * row;
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter: return 2 * row;
    case CollectiveKind::kBarrier:
    case CollectiveKind::kSendRecv: break;
  }
  return 2 * row;
}

double median_us(DeviceRanks& ranks, DeviceCollective& what) {
  static uint64_t next_id = 1;
  const uint32_t n = ranks.num_ranks();
  std::vector<void*> inputs(n);
  std::vector<void*> outputs(n);
  for (uint32_t r = 0; r < n; ++r) {
    TUTTI_CUDA_CHECK(cudaMalloc(&inputs[r], std::max<uint64_t>(what.input_bytes[r], 1)));
    TUTTI_CUDA_CHECK(cudaMalloc(&outputs[r], std::max<uint64_t>(what.output_bytes[r], 1)));
    TUTTI_CUDA_CHECK(cudaMemset(inputs[r], 0, what.input_bytes[r]));
  }
  std::vector<double> times;
  const uint64_t first_id = next_id;
  next_id += kRounds + kWarmUp;
  ranks.run([&](uint32_t r, std::barrier<>& all) {
    for (uint32_t i = 0; i < kRounds + kWarmUp; ++i) {
      all.arrive_and_wait();
      const double begin = now_us();
      ranks.wait(r, ranks.submit(r, what, first_id + i, inputs[r], outputs[r]));
      all.arrive_and_wait();  // the last rank's end is the end
      if (r == 0 && i >= kWarmUp) times.push_back(now_us() - begin);
    }
  });
  for (uint32_t r = 0; r < n; ++r) {
    TUTTI_CUDA_CHECK(cudaFree(inputs[r]));
    TUTTI_CUDA_CHECK(cudaFree(outputs[r]));
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void run(uint32_t num_ranks) {
  struct Case {
    CollectiveKind kind;
    std::string_view algorithm;
  };
  constexpr Case kCases[] = {
      {CollectiveKind::kAllReduce, "pull"},     {CollectiveKind::kAllGather, "direct"},
      {CollectiveKind::kReduceScatter, "pull"}, {CollectiveKind::kBroadcast, "spread"},
      {CollectiveKind::kReduce, "spread"},      {CollectiveKind::kAllToAll, "direct"},
  };
  DeviceRanks ranks(num_ranks);
  std::printf("%u ranks, %u workers each\n", num_ranks, ranks.daemon(0).num_workers());
  std::printf("%16s %10s %12s %10s %10s\n", "collective", "algorithm", "bytes", "p50 us",
              "of limit");
  for (const Case& one : kCases) {
    for (const uint64_t bytes : {uint64_t{32} << 20, uint64_t{256} << 20, uint64_t{1} << 30}) {
      DeviceCollective what = ranks.load({one.kind, one.algorithm, bytes / 4});
      const double us = median_us(ranks, what);
      const double limit_us =
          least_bytes(one.kind, static_cast<double>(bytes), num_ranks) / kCopyBytesPerUs;
      std::printf("%16s %10s %12lu %10.1f %10.3f\n", std::string(to_string(one.kind)).c_str(),
                  std::string(one.algorithm).c_str(), bytes, us, limit_us / us);
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace tutti::bench

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s RANKS\n", argv[0]);
    return 2;
  }
  tutti::bench::run(static_cast<uint32_t>(std::atoi(argv[1])));
}
