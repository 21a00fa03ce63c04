// Collectives in CUDA graphs that are launched again and again, and collectives that kernels begin
// and wait for, on a GPU that ranks share as threads. Memory is taken and kernels are loaded before
// the first collective, and memory is freed after the last one: both wait for all streams.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/cuda/device_job.h"
#include "tutti/device_kernel.h"

namespace tutti::test {
namespace {

constexpr unsigned kHangSeconds = 150;
constexpr std::chrono::milliseconds kBound = std::chrono::seconds(20);
constexpr uint32_t kLaunches = 100;

__global__ void add_one(float* data, uint64_t elems) {
  const uint64_t first = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x;
  for (uint64_t i = first; i < elems; i += uint64_t{gridDim.x} * blockDim.x) data[i] += 1;
}

// What launch number `*num_seen` has given, at the first and the last element.
__global__ void note(const float* sum, uint64_t elems, float* seen, uint32_t* num_seen) {
  seen[2 * *num_seen] = sum[0];
  seen[2 * *num_seen + 1] = sum[elems - 1];
  ++*num_seen;
}

// Whole numbers, other ones each time. The block's other threads write and read as well.
__global__ void sum_again_and_again(DeviceTrigger sum, float* data, uint32_t elems, uint32_t rank,
                                    uint32_t num_ranks, uint32_t times, uint32_t* wrong) {
  for (uint32_t i = 0; i < times; ++i) {
    for (uint32_t e = threadIdx.x; e < elems; e += blockDim.x) {
      data[e] = static_cast<float>(rank + e + i % 1000);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      trigger(sum);
      await(sum);
    }
    __syncthreads();
    for (uint32_t e = threadIdx.x; e < elems; e += blockDim.x) {
      const uint32_t ranks = num_ranks * (num_ranks - 1) / 2;
      const auto expected = static_cast<float>(ranks + num_ranks * (e + i % 1000));
      if (data[e] != expected) atomicAdd(wrong, 1);
    }
    __syncthreads();
  }
}

void load_kernels() {
  cudaFuncAttributes code{};
  TUTTI_CUDA_CHECK(cudaFuncGetAttributes(&code, add_one));
  TUTTI_CUDA_CHECK(cudaFuncGetAttributes(&code, note));
  TUTTI_CUDA_CHECK(cudaFuncGetAttributes(&code, sum_again_and_again));
}

// Used once, by one thread at a time: else the driver may let streams of two ranks wait for each
// other (docs/design/gpu.md).
cudaStream_t new_stream() {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  cudaStream_t stream = nullptr;
  TUTTI_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  add_one<<<1, 1, 0, stream>>>(nullptr, 0);
  TUTTI_CUDA_CHECK(cudaGetLastError());
  return stream;
}

struct Self {
  uint32_t rank;
  uint32_t num_ranks;
  Communicator comm;
  DeviceCommunicator gpu;
  cudaStream_t stream;

  void meet() { comm.barrier().wait().value(); }
};

void run_ranks(uint32_t num_ranks, const std::function<void(Self& self)>& body) {
  auto comms = Communicator::threads(num_ranks).value();
  std::vector<std::thread> threads;
  for (uint32_t r = 0; r < num_ranks; ++r) {
    threads.emplace_back([&, r] {
      TUTTI_CUDA_CHECK(cudaSetDevice(0));
      load_kernels();
      Self self{r, num_ranks, comms[r], DeviceCommunicator::create(comms[r], 0).value(), nullptr};
      self.stream = new_stream();
      self.meet();
      body(self);
      self.meet();
      TUTTI_CUDA_CHECK(cudaStreamDestroy(self.stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// What a stream is given by `body`, as a graph.
class Graph {
 public:
  Graph(cudaStream_t stream, const std::function<void()>& body) : stream_(stream) {
    cudaGraph_t graph = nullptr;
    TUTTI_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    body();
    TUTTI_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    TUTTI_CUDA_CHECK(cudaGraphInstantiate(&exec_, graph, 0));
    TUTTI_CUDA_CHECK(cudaGraphUpload(exec_, stream));
    TUTTI_CUDA_CHECK(cudaGraphDestroy(graph));
    TUTTI_CUDA_CHECK(cudaStreamSynchronize(stream));
  }
  ~Graph() { cudaGraphExecDestroy(exec_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch() const { TUTTI_CUDA_CHECK(cudaGraphLaunch(exec_, stream_)); }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t exec_ = nullptr;
};

void expect_ok(const Status& status, uint32_t rank) {
  EXPECT_TRUE(status.ok()) << "rank " << rank << ": "
                           << (status.ok() ? "" : status.error().message);
}

// Of rank_values: the sum over all ranks at element i when each has counted up so often.
float sum_at(uint32_t num_ranks, uint64_t i, uint32_t launches) {
  return static_cast<float>(num_ranks * (num_ranks - 1) / 2 + num_ranks * (i % 64 + launches));
}

// A kernel, an all_reduce, a kernel.
void check_launches(Self& self, uint64_t elems, const std::string& name, bool pauses) {
  const DeviceArray data(rank_values(self.rank, elems));
  const DeviceArray sum(std::vector<float>(elems, -1));
  const DeviceArray seen(std::vector<float>(2 * kLaunches, -1));
  const DeviceArray count(std::vector<float>(1, 0));  // as a number: all bits are zero
  auto* const num_seen = reinterpret_cast<uint32_t*>(count.data().data());
  {
    const Graph graph(self.stream, [&] {
      add_one<<<8, 256, 0, self.stream>>>(data.data().data(), elems);
      expect_ok(self.gpu.all_reduce(std::span<const float>(data.data()), sum.data(), self.stream,
                                    {.name = name, .deadline = kBound}),
                self.rank);
      note<<<1, 1, 0, self.stream>>>(sum.data().data(), elems, seen.data().data(), num_seen);
      TUTTI_CUDA_CHECK(cudaGetLastError());
    });
    self.meet();
    for (uint32_t i = 0; i < kLaunches; ++i) {
      graph.launch();
      if (!pauses || i % 25 != 24) continue;
      // Long enough for the daemons to leave, and for their host to look more seldom.
      TUTTI_CUDA_CHECK(cudaStreamSynchronize(self.stream));
      usleep(150'000 + 1'000 * self.rank);
    }
    TUTTI_CUDA_CHECK(cudaStreamSynchronize(self.stream));
    expect_ok(self.gpu.finish(), self.rank);
    self.meet();
  }
  const std::vector<float> notes = seen.values();
  uint64_t wrong = 0;
  for (uint32_t i = 0; i < kLaunches; ++i) {
    wrong += notes[2 * i] != sum_at(self.num_ranks, 0, i + 1) ? 1 : 0;
    wrong += notes[2 * i + 1] != sum_at(self.num_ranks, elems - 1, i + 1) ? 1 : 0;
  }
  const std::vector<float> last = sum.values();
  for (uint64_t i = 0; i < elems; ++i) {
    wrong += last[i] != sum_at(self.num_ranks, i, kLaunches) ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0u) << "rank " << self.rank << " of " << self.num_ranks << ", " << elems;
  self.meet();
}

TEST(GraphDevice, AHundredLaunchesWithOtherInputsAreExact) {
  for (const uint32_t n : {2u, 4u}) {
    run_ranks(n, [](Self& self) {
      for (const uint64_t elems : {2ul, 1000ul, 300'000ul}) {
        check_launches(self, elems, "graph of " + std::to_string(elems), false);
      }
    });
  }
}

TEST(GraphDevice, DaemonsComeBackForLaunches) {
  run_ranks(2, [](Self& self) { check_launches(self, 2, "", true); });
}

TEST(GraphDevice, GroupsAndCallsInStreamsBesideThem) {
  run_ranks(2, [](Self& self) {
    constexpr uint64_t kElems = 5000;
    const DeviceArray sent(rank_values(self.rank, kElems));
    const DeviceArray received(std::vector<float>(kElems, -1));
    const DeviceArray beside(rank_values(self.rank, 40));
    const auto message = [&](const DeviceArray& data, bool receives) {
      Call call{.kind = CollectiveKind::kSendRecv, .type = DataType::kFloat32};
      call.peer = 1 - self.rank;
      call.receives = receives;
      call.options.deadline = kBound;
      (receives ? call.output_elems : call.input_elems) = kElems;
      if (receives) call.output = data.data().data();
      if (!receives) call.input = data.data().data();
      return call;
    };
    const Call calls[] = {message(sent, false), message(received, true)};
    {
      const Graph graph(self.stream, [&] {
        add_one<<<1, 256, 0, self.stream>>>(sent.data().data(), kElems);
        expect_ok(self.gpu.enqueue(calls, self.stream), self.rank);
      });
      self.meet();
      for (uint32_t i = 0; i < 20; ++i) {
        graph.launch();
        expect_ok(
            self.gpu.all_reduce(beside.data(), self.stream, {.op = Op::kMax, .deadline = kBound}),
            self.rank);
      }
      TUTTI_CUDA_CHECK(cudaStreamSynchronize(self.stream));
      expect_ok(self.gpu.finish(), self.rank);
      self.meet();
    }
    std::vector<float> expected = rank_values(1 - self.rank, kElems);
    for (float& value : expected) value += 20;
    EXPECT_EQ(received.values(), expected);
    EXPECT_EQ(beside.values(), rank_values(1, 40));
    self.meet();
  });
}

TEST(GraphDevice, WhatRanksDisagreeOnIsSaidAndTheGraphGoesOn) {
  run_ranks(2, [](Self& self) {
    const DeviceArray data(rank_values(self.rank, 100));
    {
      const Graph graph(self.stream, [&] {
        expect_ok(self.gpu.all_reduce(data.data().subspan(0, self.rank == 0 ? 100 : 99),
                                      self.stream, {.name = "layer", .deadline = kBound}),
                  self.rank);
      });
      self.meet();
      graph.launch();
      graph.launch();
      TUTTI_CUDA_CHECK(cudaStreamSynchronize(self.stream));
      const Status status = self.gpu.status();
      EXPECT_FALSE(status.ok());
      if (!status.ok()) {
        EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument) << status.error().message;
      }
      self.meet();
    }
  });
}

TEST(GraphDevice, KernelsBeginAndAwaitCollectives) {
  for (const uint32_t n : {2u, 4u}) {
    for (const uint32_t elems : {2u, 20'000u}) {
      run_ranks(n, [&](Self& self) {
        const DeviceArray data(rank_values(self.rank, elems));
        const DeviceArray wrong(std::vector<float>(1, 0));
        auto* const num_wrong = reinterpret_cast<uint32_t*>(wrong.data().data());
        {
          const PreparedCall call = self.gpu
                                        .prepare({.kind = CollectiveKind::kAllReduce,
                                                  .type = DataType::kFloat32,
                                                  .input = data.data().data(),
                                                  .input_elems = elems,
                                                  .output = data.data().data(),
                                                  .output_elems = elems,
                                                  .options = {.deadline = kBound}})
                                        .value();
          self.meet();
          sum_again_and_again<<<1, 128, 0, self.stream>>>(call.trigger(), data.data().data(), elems,
                                                          self.rank, n, elems < 100 ? 500 : 100,
                                                          num_wrong);
          TUTTI_CUDA_CHECK(cudaGetLastError());
          TUTTI_CUDA_CHECK(cudaStreamSynchronize(self.stream));
          expect_ok(self.gpu.finish(), self.rank);
          self.meet();
        }
        EXPECT_EQ(wrong.values()[0], 0.0F) << "rank " << self.rank << " of " << n << ", " << elems;
        self.meet();
      });
    }
  }
}

}  // namespace
}  // namespace tutti::test

int main(int argc, char** argv) {
  alarm(tutti::test::kHangSeconds);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
