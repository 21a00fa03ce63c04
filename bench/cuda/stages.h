// What leaders spend their time on, where the daemon's code was compiled with TUTTI_DAEMON_STAGES.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <iterator>

#include "bench/cuda/device_ranks.h"
#include "engine/cuda/daemon_state.h"

namespace tutti::bench {

inline engine::cuda::Stages stages_of(DeviceRanks& ranks, uint32_t rank = 0) {
  ranks.daemon(rank).leave();
  engine::cuda::Stages stages{};
  TUTTI_CUDA_CHECK(cudaDeviceSynchronize());
  TUTTI_CUDA_CHECK(cudaMemcpy(&stages, &ranks.daemon(rank).state()->stages, sizeof stages,
                              cudaMemcpyDeviceToHost));
  return stages;
}

// Of one operation, in ns and in brackets how often; what `before` has is not counted.
inline void print_stages(DeviceRanks& ranks, const engine::cuda::Stages& before,
                         uint64_t num_operations) {
  static constexpr const char* kNames[] = {"look",  "take", "issue", "greet", "hear",
                                           "start", "run",  "fold",  "end"};
  static_assert(std::size(kNames) == engine::cuda::kNumStages);
  int clock_khz = 0;
  TUTTI_CUDA_CHECK(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0));
  const engine::cuda::Stages after = stages_of(ranks);
  const auto num = static_cast<double>(num_operations);
  for (uint32_t i = 0; i < engine::cuda::kNumStages; ++i) {
    const auto cycles = static_cast<double>(after.cycles[i] - before.cycles[i]);
    std::printf("  %s %.0f (%.1f)", kNames[i], cycles / clock_khz * 1e6 / num,
                static_cast<double>(after.times[i] - before.times[i]) / num);
  }
  std::printf("\n");
}

}  // namespace tutti::bench
