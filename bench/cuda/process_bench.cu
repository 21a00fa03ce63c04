// all_reduce of 8 B to 64 KiB through device communicators, of ranks that are processes, which this
// program starts of itself: a call in a stream and a wait for the stream, and calls one behind the
// other. Processes that share a GPU need NVIDIA's MPS: run it under tests/cuda/nccl/under_mps.sh.
//
// usage: process_bench RANKS [SECONDS [threads]]
#include <atomic>
#include <thread>

#include "bench/cuda/rank_data.h"
#include "bench/cuda/rank_processes.h"
#include "tutti/device.h"

namespace tutti::bench {
namespace {

constexpr uint64_t kSizes[] = {8, 64, 512, 4 << 10, 64 << 10};
constexpr uint64_t kMostCalls = 20'000;
constexpr uint64_t kMostBehind = 5'000;
constexpr const char* kIsRank = "TUTTI_BENCH_IS_RANK";

void expect(const Status& status, const char* what) {
  if (!status) die(std::string(what) + ": " + status.error().message);
}

uint64_t first_says(Communicator& comm, uint64_t value) {
  expect(comm.broadcast(std::span(&value, 1), {.name = "agree"}).wait(), "agreeing");
  return value;
}

void measure_size(Communicator& comm, DeviceCommunicator& gpu, uint64_t bytes, double seconds,
                  std::atomic<uint64_t>& num_wrong) {
  begin_phase("buffers");
  RankData data(gpu.rank(), gpu.num_ranks(), bytes / sizeof(float));
  cudaStream_t stream = nullptr;
  TUTTI_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const auto agree = [&](uint64_t value) { return first_says(comm, value); };
  const auto call = [&] {
    expect(gpu.all_reduce(std::span(data.input(), data.elems()),
                          std::span(data.output(), data.elems()), stream, {.name = "bench"}),
           "all_reduce");
  };
  const auto wait = [&] { TUTTI_CUDA_CHECK(cudaStreamSynchronize(stream)); };
  // Threads of one process: taking memory waits for the streams of all.
  expect(comm.barrier().wait(), "a barrier");
  begin_phase("through a stream");
  const Times times = times_of(time_calls(seconds / 2, kMostCalls, agree, [&] {
    call();
    wait();
  }));
  expect(comm.barrier().wait(), "a barrier");
  begin_phase("one behind the other");
  const double behind_us = time_behind(seconds / 2, kMostBehind, agree, call, wait);
  expect(gpu.finish(), "finishing");
  expect(comm.barrier().wait(), "a barrier");
  begin_phase("checking");
  uint64_t wrong = data.num_wrong();
  num_wrong += wrong;
  expect(comm.all_reduce(std::span(&wrong, 1), {.name = "wrong"}).wait(), "adding up");
  if (gpu.rank() == 0) {
    std::printf("%8lu %10.2f %10.2f %10.2f %10.2f %8lu\n", bytes, times.p50, times.p99, times.mean,
                behind_us, wrong);
  }
  TUTTI_CUDA_CHECK(cudaStreamDestroy(stream));
}

// The exit code.
int be_rank(Communicator comm, const Options& options, const char* kind) {
  begin_phase("making device communicators");
  auto made = DeviceCommunicator::create(comm, 0);
  if (!made) die("a device communicator: " + made.error().message);
  DeviceCommunicator gpu = std::move(*made);
  if (gpu.rank() == 0) {
    std::printf("all_reduce through device communicators, %u ranks (%s); times in us\n",
                gpu.num_ranks(), kind);
    std::printf("%8s %10s %10s %10s %10s %8s\n", "bytes", "p50", "p99", "mean", "behind", "#wrong");
  }
  std::atomic<uint64_t> num_wrong = 0;
  for (const uint64_t bytes : kSizes) {
    measure_size(comm, gpu, bytes, options.seconds / std::size(kSizes), num_wrong);
  }
  begin_phase("the end");
  expect(comm.barrier().wait(), "a barrier");
  return num_wrong == 0 ? 0 : 1;
}

int run_threads(const Options& options) {
  auto comms = Communicator::threads(options.num_ranks);
  if (!comms) die(comms.error().message);
  std::atomic<int> worst = 0;
  std::vector<std::thread> threads;
  for (uint32_t r = 0; r < options.num_ranks; ++r) {
    threads.emplace_back([&, r] {
      TUTTI_CUDA_CHECK(cudaSetDevice(0));
      if (be_rank((*comms)[r], options, "threads") != 0) worst = 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return worst;
}

int run(int argc, char** argv) {
  const Options options = begin(argc, argv, {}, " [threads]");
  if (std::getenv(kIsRank) != nullptr) {
    end_with_parent();
    auto comm = Communicator::from_environment();
    if (!comm) die(comm.error().message);
    return be_rank(*comm, options, "processes");
  }
  if (options.word == "threads") return run_threads(options);
  if (std::getenv("CUDA_MPS_PIPE_DIRECTORY") == nullptr) {
    std::printf("no MPS here, it seems: processes take turns on the GPU, and so are the figures\n");
  }
  begin_phase("waiting for ranks");
  RankProcesses ranks(options.num_ranks, {argv, static_cast<size_t>(argc)},
                      {std::string(kIsRank) + "=1"});
  if (ranks.wait_for_all()) return 0;
  std::fprintf(stderr, "a rank failed\n");
  return 1;
}

}  // namespace
}  // namespace tutti::bench

int main(int argc, char** argv) { return tutti::bench::run(argc, argv); }
