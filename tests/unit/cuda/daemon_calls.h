// Ranks with programs of one collective and buffers for many calls of it, played by one thread:
// what tests of daemons want to say about single calls.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/cuda/daemon.h"
#include "engine/cuda/fold.h"
#include "engine/cuda/fusion.h"
#include "ir/sizes.h"
#include "plan/algorithm.h"
#include "tests/support/rank_memory.h"
#include "tests/support/thread_device.h"
#include "verify/check.h"

namespace tutti::test {

inline constexpr uint64_t kForEver = UINT64_MAX / 2;
// So short that daemons leave in the middle of everything.
inline constexpr engine::cuda::DaemonOptions kRestless{
    .num_workers = 2, .presence = {.linger_ns = 5'000, .stay_ns = 50'000}};

// Programs of all ranks for numbers of 8 bytes.
inline std::vector<engine::cuda::FusedProgram> fuse_programs(const Collective& collective,
                                                             uint64_t elems,
                                                             std::string_view algorithm) {
  const auto schedule = verify::check(plan::make(collective, algorithm, {}).value()).schedule();
  const auto layout = ir::Layout::create(collective, schedule.schedule().chunks_per_block).value();
  return engine::cuda::fuse(schedule, ir::Sizes::even(layout, elems), 8, engine::kMostSources);
}

// Ranks with programs of one all_reduce of int64, and buffers for many calls of it.
class Calls {
 public:
  Calls(uint32_t num_ranks, uint64_t elems, size_t num_calls,
        const engine::cuda::DaemonOptions& options, std::string_view algorithm = "pull")
      : elems_(elems),
        daemons_(engine::cuda::Daemon::create_all(device_, num_ranks, options).value()) {
    for (uint32_t r = 0; r < num_ranks; ++r) {
      programs_.push_back(load(r, elems, CollectiveKind::kAllReduce, algorithm));
      inputs_.emplace_back(num_calls * elems);
      outputs_.emplace_back(num_calls * elems, kUnwritten);
      for (size_t i = 0; i < inputs_[r].size(); ++i)
        inputs_[r][i] = static_cast<int64_t>(i * (r + 2));
    }
  }

  engine::cuda::LoadedProgram load(uint32_t rank, uint64_t elems,
                                   CollectiveKind kind = CollectiveKind::kAllReduce,
                                   std::string_view algorithm = "pull") {
    const auto n = static_cast<uint32_t>(daemons_.size());
    const auto fused = fuse_programs({kind, n, 0, 0}, elems, algorithm);
    std::vector<uint32_t> members(n);
    std::iota(members.begin(), members.end(), 0);
    return engine::cuda::LoadedProgram::load(daemons_[rank]->memory(), fused[rank], members,
                                             daemons_[0]->num_workers())
        .value();
  }

  engine::cuda::DeviceRequest request(uint32_t rank, size_t call) {
    return {.operation = call + 1,
            .signature = {elems_, 0, 0, static_cast<uint8_t>(DataType::kInt64), 0, 0},
            .program = &programs_[rank],
            .input = inputs_[rank].data() + call * elems_,
            .output = outputs_[rank].data() + call * elems_};
  }
  engine::cuda::Daemon::Ticket submit(uint32_t rank, const engine::cuda::DeviceRequest& request) {
    return daemons_[rank]->submit(request).value();
  }
  // One thread plays all ranks, so it also keeps the others' daemons going.
  engine::cuda::Completion wait(uint32_t rank, const engine::cuda::Daemon::Ticket& ticket) {
    // Liveness: all members have issued it, or it has a deadline.
    while (!engine::cuda::Daemon::is_over(ticket)) {
      for (const auto& daemon : daemons_) EXPECT_TRUE(daemon->keep_going().ok());
      std::this_thread::yield();
    }
    return daemons_[rank]->wait(ticket, kForEver);
  }
  [[nodiscard]] bool is_right(size_t call) const {
    for (size_t i = call * elems_; i < (call + 1) * elems_; ++i) {
      int64_t sum = 0;
      for (const auto& input : inputs_) sum += input[i];
      for (const auto& output : outputs_) {
        if (output[i] != sum) return false;
      }
    }
    return true;
  }
  [[nodiscard]] const std::vector<int64_t>& output(uint32_t rank) const { return outputs_[rank]; }
  [[nodiscard]] bool is_unwritten(uint32_t rank) const {
    return std::all_of(outputs_[rank].begin(), outputs_[rank].end(),
                       [](int64_t v) { return v == kUnwritten; });
  }
  [[nodiscard]] engine::cuda::Daemon& daemon(uint32_t rank) { return *daemons_[rank]; }
  [[nodiscard]] ThreadDevice& device() { return device_; }
  [[nodiscard]] engine::cuda::LoadedProgram& program(uint32_t rank) { return programs_[rank]; }

 private:
  uint64_t elems_;
  ThreadDevice device_;
  std::vector<std::unique_ptr<engine::cuda::Daemon>> daemons_;
  std::vector<engine::cuda::LoadedProgram> programs_;
  std::vector<std::vector<int64_t>> inputs_;
  std::vector<std::vector<int64_t>> outputs_;
};

inline engine::cuda::Outcome outcome_of(const engine::cuda::Completion& how) {
  return static_cast<engine::cuda::Outcome>(how.outcome);
}

}  // namespace tutti::test
