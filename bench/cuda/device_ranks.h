// Ranks on one GPU, each a thread with a daemon: what the benchmarks and tests there share.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <barrier>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/cuda/bench_run.h"
#include "engine/cuda/cuda_device.h"
#include "engine/cuda/daemon.h"
#include "engine/cuda/fold.h"
#include "engine/cuda/fusion.h"
#include "ir/sizes.h"
#include "plan/algorithm.h"
#include "verify/check.h"

namespace tutti::bench {

#define TUTTI_CUDA_CHECK(call)                                                  \
  do {                                                                          \
    if (const cudaError_t error = (call); error != cudaSuccess) {               \
      ::tutti::bench::die(std::string(#call ": ") + cudaGetErrorString(error)); \
    }                                                                           \
  } while (false)

// Of an H200, measured: device to device, read and write.
inline constexpr double kCopyBytesPerUs = 4.28e6;

struct DeviceCall {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::string_view algorithm = "pull";
  uint64_t elems = 1;
  DataType type = DataType::kFloat32;
  Op op = Op::kSum;
  uint32_t root = 0;
};

// A collective with its programs on all ranks of the group.
struct DeviceCollective {
  DeviceCall call;
  std::vector<engine::cuda::LoadedProgram> programs;
  std::vector<uint64_t> input_bytes;
  std::vector<uint64_t> output_bytes;
};

// What the first of several threads says, for all of them.
class Agreement {
 public:
  uint64_t operator()(uint32_t rank, std::barrier<>& all, uint64_t value) {
    if (rank == 0) value_ = value;
    all.arrive_and_wait();
    const uint64_t agreed = value_;
    all.arrive_and_wait();  // the next value may be said
    return agreed;
  }

 private:
  std::atomic<uint64_t> value_{0};
};

class DeviceRanks {
 public:
  explicit DeviceRanks(uint32_t num_ranks, uint32_t num_workers = 0,
                       const engine::cuda::Presence& presence = {})
      : device_(engine::cuda::CudaDevice::create(0).value()) {
    const uint32_t workers = num_workers != 0 ? num_workers : device_->workers_for(num_ranks);
    daemons_ = engine::cuda::Daemon::create_all(*device_, num_ranks, {workers, presence}).value();
  }
  ~DeviceRanks() { daemons_.clear(); }

  [[nodiscard]] uint32_t num_ranks() const { return static_cast<uint32_t>(daemons_.size()); }
  [[nodiscard]] engine::cuda::CudaDevice& device() { return *device_; }
  [[nodiscard]] engine::cuda::Daemon& daemon(uint32_t rank) { return *daemons_[rank]; }

  DeviceCollective load(const DeviceCall& call) {
    const Collective collective{call.kind, num_ranks(), call.root,
                                call.kind == CollectiveKind::kSendRecv ? 1 - call.root : 0};
    const auto schedule =
        verify::check(plan::make(collective, call.algorithm, {}).value()).schedule();
    const auto layout =
        ir::Layout::create(collective, schedule.schedule().chunks_per_block).value();
    const auto fused =
        engine::cuda::fuse(schedule, ir::Sizes::even(layout, call.elems),
                           static_cast<uint32_t>(size_of(call.type)), engine::kMostSources);
    DeviceCollective out{call, {}, {}, {}};
    std::vector<uint32_t> members;
    for (uint32_t r = 0; r < num_ranks(); ++r) members.push_back(r);
    for (const auto& program : fused) {
      engine::cuda::Daemon& daemon = *daemons_[out.programs.size()];
      out.programs.push_back(
          engine::cuda::LoadedProgram::load(daemon.memory(), program, members, daemon.num_workers())
              .value());
      out.input_bytes.push_back(program.program.input_bytes);
      out.output_bytes.push_back(program.program.output_bytes);
    }
    return out;
  }

  static engine::cuda::DeviceRequest request(uint32_t rank, DeviceCollective& what, uint64_t id,
                                             const void* input, void* output, double factor = 1) {
    const DeviceCall& call = what.call;
    return {.operation = id,
            .signature = {call.elems, call.root, static_cast<uint8_t>(call.kind),
                          static_cast<uint8_t>(call.type), static_cast<uint8_t>(call.op), 0},
            .program = &what.programs[rank],
            .input = input,
            .output = output,
            .factor = factor};
  }
  engine::cuda::Daemon::Ticket submit(uint32_t rank, DeviceCollective& what, uint64_t id,
                                      const void* input, void* output, double factor = 1) {
    auto ticket = daemons_[rank]->submit(request(rank, what, id, input, output, factor));
    if (!ticket) die("submit: " + ticket.error().message);
    return *ticket;
  }
  void wait(uint32_t rank, const engine::cuda::Daemon::Ticket& ticket) {
    const auto how = daemons_[rank]->wait(ticket, uint64_t{20} * 1'000'000'000);
    if (how.outcome == static_cast<uint32_t>(engine::cuda::Outcome::kDone)) return;
    die("rank " + std::to_string(rank) + ": outcome " + std::to_string(how.outcome) +
        " after 20 s at most");
  }

  // A thread a rank, that starts together with the others.
  void run(const std::function<void(uint32_t rank, std::barrier<>& all)>& job) {
    std::barrier all(num_ranks());
    std::vector<std::thread> threads;
    for (uint32_t r = 0; r < num_ranks(); ++r) {
      threads.emplace_back([&, r] {
        TUTTI_CUDA_CHECK(cudaSetDevice(0));
        job(r, all);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  std::unique_ptr<engine::cuda::CudaDevice> device_;
  std::vector<std::unique_ptr<engine::cuda::Daemon>> daemons_;
};

}  // namespace tutti::bench
