// Small all_reduces that nobody calls: begun and awaited by a kernel, timed inside of it, and as a
// graph that is launched again and again. Ranks are threads that share a GPU.
//
// usage: device_side_bench RANKS...
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "bench/cuda/device_ranks.h"
#include "engine/cuda/ptx.cuh"
#include "tutti/device.h"

namespace tutti::bench {
namespace {

constexpr unsigned kHangSeconds = 120;
constexpr std::chrono::milliseconds kBound = std::chrono::seconds(20);
constexpr uint32_t kElems = 2;  // 8 bytes
constexpr uint32_t kWarmUp = 200;
constexpr uint32_t kTimes = 2000;

struct Timings {
  uint64_t cycles[kTimes];
  uint64_t all_cycles;  // of the same stretch as all_ns
  uint64_t all_ns;
  uint64_t wrong;
};

// One thread. Cycles are exact; how long one takes the GPU's clock says over all of them.
__global__ void time_calls(DeviceTrigger sum, const float* input, const float* output,
                           float expected, Timings* out) {
  uint64_t first_cycle = 0;
  uint64_t first_ns = 0;
  uint64_t wrong = 0;
  for (uint32_t i = 0; i < kWarmUp + kTimes; ++i) {
    if (i == kWarmUp) {
      first_cycle = static_cast<uint64_t>(clock64());
      first_ns = engine::ptx::global_timer_ns();
    }
    const auto begin = static_cast<uint64_t>(clock64());
    trigger(sum);
    await(sum);
    const auto end = static_cast<uint64_t>(clock64());
    if (i >= kWarmUp) out->cycles[i - kWarmUp] = end - begin;
    const auto* const seen = static_cast<const volatile float*>(output);
    for (uint32_t e = 0; e < kElems; ++e) wrong += seen[e] == expected ? 0 : 1;
  }
  out->all_cycles = static_cast<uint64_t>(clock64()) - first_cycle;
  out->all_ns = engine::ptx::global_timer_ns() - first_ns;
  out->wrong = wrong + (input[0] == 0 ? 1 : 0);
}

template <class T>
T value_of(Result<T> result, const char* what) {
  if (!result) {
    std::fprintf(stderr, "%s: %s\n", what, result.error().message.c_str());
    std::_Exit(1);
  }
  return std::move(*result);
}
void check(const Status& status, const char* what) {
  if (status) return;
  std::fprintf(stderr, "%s: %s\n", what, status.error().message.c_str());
  std::_Exit(1);
}

// Of all ranks together; in microseconds.
struct Distribution {
  std::vector<double> us;

  void print(const char* what, uint32_t num_ranks) {
    std::sort(us.begin(), us.end());
    std::printf("%u ranks  %-28s p50 %8.2f us  p99 %8.2f us  max %9.2f us  (%zu)\n", num_ranks,
                what, us[us.size() / 2], us[us.size() * 99 / 100], us.back(), us.size());
    std::fflush(stdout);
  }
};

struct Found {
  Distribution in_kernel;
  Distribution launch_and_wait;
  double launches_per_second = 0;
  uint64_t wrong = 0;
};

class Rank {
 public:
  Rank(Communicator comm, std::mutex& mutex, Found& found)
      : comm_(std::move(comm)),
        gpu_(value_of(DeviceCommunicator::create(comm_, 0), "a communicator on the GPU")),
        mutex_(mutex),
        found_(found),
        num_ranks_(gpu_.num_ranks()) {
    TUTTI_CUDA_CHECK(cudaMalloc(&input_, kElems * sizeof(float)));
    TUTTI_CUDA_CHECK(cudaMalloc(&output_, kElems * sizeof(float)));
    TUTTI_CUDA_CHECK(cudaMalloc(&timings_, sizeof(Timings)));
    {
      // Used once, by one thread at a time: else the driver may let streams of two ranks wait for
      // each other (docs/design/gpu.md).
      const std::lock_guard lock(mutex_);
      TUTTI_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
      TUTTI_CUDA_CHECK(cudaMemsetAsync(timings_, 0, sizeof(Timings), stream_));
    }
    const float mine = static_cast<float>(gpu_.rank() + 1);
    const std::vector<float> values(kElems, mine);
    TUTTI_CUDA_CHECK(
        cudaMemcpy(input_, values.data(), kElems * sizeof(float), cudaMemcpyHostToDevice));
    // Loaded before any kernel waits: loading waits for all of them.
    cudaFuncAttributes code{};
    TUTTI_CUDA_CHECK(cudaFuncGetAttributes(&code, time_calls));
  }
  ~Rank() {
    cudaStreamDestroy(stream_);
    cudaFree(input_);
    cudaFree(output_);
    cudaFree(timings_);
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  void meet() { check(comm_.barrier().wait(), "a barrier"); }

  void run_in_kernel() {
    const PreparedCall call = value_of(gpu_.prepare(this->call()), "preparing");
    meet();
    const auto expected = static_cast<float>(num_ranks_ * (num_ranks_ + 1) / 2);
    time_calls<<<1, 1, 0, stream_>>>(call.trigger(), input_, output_, expected, timings_);
    TUTTI_CUDA_CHECK(cudaGetLastError());
    TUTTI_CUDA_CHECK(cudaStreamSynchronize(stream_));
    check(gpu_.finish(), "calls of a kernel");
    meet();
    auto timings = std::make_unique<Timings>();
    TUTTI_CUDA_CHECK(cudaMemcpy(timings.get(), timings_, sizeof(Timings), cudaMemcpyDeviceToHost));
    const double us_per_cycle =
        static_cast<double>(timings->all_ns) / 1e3 / static_cast<double>(timings->all_cycles);
    {
      const std::lock_guard lock(mutex_);
      for (const uint64_t cycles : timings->cycles) {
        found_.in_kernel.us.push_back(static_cast<double>(cycles) * us_per_cycle);
      }
      found_.wrong += timings->wrong;
    }
    meet();
  }

  void run_graph() {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    TUTTI_CUDA_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    check(gpu_.enqueue(call(), stream_), "capturing");
    TUTTI_CUDA_CHECK(cudaStreamEndCapture(stream_, &graph));
    TUTTI_CUDA_CHECK(cudaGraphInstantiate(&exec, graph, 0));
    TUTTI_CUDA_CHECK(cudaGraphUpload(exec, stream_));
    TUTTI_CUDA_CHECK(cudaStreamSynchronize(stream_));
    meet();
    std::vector<double> us;
    for (uint32_t i = 0; i < kWarmUp + kTimes; ++i) {
      const double begin = now_us();
      TUTTI_CUDA_CHECK(cudaGraphLaunch(exec, stream_));
      TUTTI_CUDA_CHECK(cudaStreamSynchronize(stream_));
      if (i >= kWarmUp) us.push_back(now_us() - begin);
    }
    meet();
    const double begin = now_us();
    for (uint32_t i = 0; i < kTimes; ++i) TUTTI_CUDA_CHECK(cudaGraphLaunch(exec, stream_));
    TUTTI_CUDA_CHECK(cudaStreamSynchronize(stream_));
    meet();
    const double all_us = now_us() - begin;
    check(gpu_.finish(), "launches of a graph");
    {
      const std::lock_guard lock(mutex_);
      auto& all = found_.launch_and_wait.us;
      all.insert(all.end(), us.begin(), us.end());
      if (gpu_.rank() == 0) found_.launches_per_second = kTimes / all_us * 1e6;
    }
    TUTTI_CUDA_CHECK(cudaGraphExecDestroy(exec));
    TUTTI_CUDA_CHECK(cudaGraphDestroy(graph));
    meet();
  }

 private:
  [[nodiscard]] Call call() const {
    return {.kind = CollectiveKind::kAllReduce,
            .type = DataType::kFloat32,
            .input = input_,
            .input_elems = kElems,
            .output = output_,
            .output_elems = kElems,
            .options = {.deadline = kBound}};
  }

  Communicator comm_;
  DeviceCommunicator gpu_;
  std::mutex& mutex_;
  Found& found_;
  uint32_t num_ranks_;
  cudaStream_t stream_ = nullptr;
  float* input_ = nullptr;
  float* output_ = nullptr;
  Timings* timings_ = nullptr;
};

void run(uint32_t num_ranks) {
  auto comms = value_of(Communicator::threads(num_ranks), "ranks");
  std::mutex mutex;
  Found found;
  std::vector<std::thread> threads;
  for (uint32_t r = 0; r < num_ranks; ++r) {
    threads.emplace_back([&, r] {
      TUTTI_CUDA_CHECK(cudaSetDevice(0));
      Rank rank(comms[r], mutex, found);
      rank.meet();
      rank.run_in_kernel();
      rank.run_graph();
      rank.meet();
    });
  }
  for (std::thread& thread : threads) thread.join();
  found.in_kernel.print("8 B, begun by a kernel", num_ranks);
  found.launch_and_wait.print("8 B, graph launch and wait", num_ranks);
  std::printf("%u ranks  %.0f graph launches a second, back to back; %lu wrong\n", num_ranks,
              found.launches_per_second, found.wrong);
  std::fflush(stdout);
}

}  // namespace
}  // namespace tutti::bench

int main(int argc, char** argv) {
  alarm(tutti::bench::kHangSeconds);
  std::vector<uint32_t> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(static_cast<uint32_t>(std::atoi(argv[i])));
  if (sizes.empty() || std::count(sizes.begin(), sizes.end(), 0U) != 0) {
    std::fprintf(stderr, "usage: %s RANKS...\n", argv[0]);
    return 2;
  }
  for (const uint32_t num_ranks : sizes) tutti::bench::run(num_ranks);
}
