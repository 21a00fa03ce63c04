// Two ranks, threads of this process, use two communicators in opposite orders: each enqueues first
// what the other enqueues last, on streams that wait for nothing else. Over tutti that ends. NCCL,
// since 2.22, connects a communicator in its first collective and waits there for the other rank,
// which waits in the other communicator.
//
// With TUTTI_WITH_CUDA it is compiled against NVIDIA's headers and can be run over their library
// and over ours, on a GPU: tests/cuda/nccl/opposite_orders.sh. Without, over daemons that are
// threads of the host.
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#ifdef TUTTI_WITH_CUDA
#include <cuda_runtime.h>
#include <nccl.h>
#else
#include "frontends/nccl/nccl_abi.h"
#include "tests/support/host_device/host_device.h"
#endif

namespace {

constexpr int kRanks = 2;
constexpr int kComms = 2;
constexpr int kRounds = 20;
constexpr size_t kElems = 100'000;

// What each rank does, for whoever ends the program since it does not end by itself.
std::atomic<const char*> g_doing[kRanks] = {"nothing yet", "nothing yet"};

void tell_and_end(int /*signal*/) {
  const auto say = [](const char* text) {
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0) _exit(1);
  };
  for (int rank = 0; rank < kRanks; ++rank) {
    say(rank == 0 ? "rank 0 is in: " : "rank 1 is in: ");
    say(g_doing[rank].load());
    say("\n");
  }
  _exit(1);
}

void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("wrong: %s: %s\n", what, ncclGetLastError(nullptr));
  std::fflush(stdout);
  std::_Exit(1);
}

#ifdef TUTTI_WITH_CUDA

// NVIDIA's library wants a GPU for each rank; where there is one, both are given that.
void use_device(int rank) {
  int num_devices = 0;
  expect(cudaGetDeviceCount(&num_devices) == cudaSuccess && num_devices > 0, "a GPU");
  expect(cudaSetDevice(rank % num_devices) == cudaSuccess, "using the GPU");
}

// Numbers on the GPU, and a stream.
class Row {
 public:
  Row() {
    expect(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking) == cudaSuccess, "a stream");
    expect(cudaMalloc(&at_, kElems * sizeof(int64_t)) == cudaSuccess, "memory");
  }
  [[nodiscard]] void* at() const { return at_; }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  void set(int64_t value) {
    const std::vector<int64_t> values(kElems, value);
    copy(at_, values.data(), cudaMemcpyHostToDevice);
  }
  [[nodiscard]] int64_t last() {
    std::vector<int64_t> values(kElems);
    copy(values.data(), at_, cudaMemcpyDeviceToHost);
    return values.back();
  }

 private:
  void copy(void* to, const void* from, cudaMemcpyKind kind) {
    cudaMemcpyAsync(to, from, kElems * sizeof(int64_t), kind, stream_);
    expect(cudaStreamSynchronize(stream_) == cudaSuccess, "a copy");
  }
  void* at_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

#else

void use_device(int /*rank*/) {}

class Row {
 public:
  [[nodiscard]] void* at() { return values_.data(); }
  [[nodiscard]] cudaStream_t stream() { return &stream_; }
  void set(int64_t value) { values_.assign(kElems, value); }
  [[nodiscard]] int64_t last() {
    stream_.synchronize();
    return values_.back();
  }

 private:
  std::vector<int64_t> values_ = std::vector<int64_t>(kElems);
  tutti::test::ThreadStream stream_;
};

#endif

void be_rank(const ncclUniqueId* ids, int rank) {
  const auto begin = [rank](const char* what) { g_doing[rank] = what; };
  begin("opening the GPU");
  use_device(rank);
  ncclComm_t comms[kComms] = {};
  Row rows[kComms];
  for (int i = 0; i < kComms; ++i) {
    begin(i == 0 ? "making the first communicator" : "making the second communicator");
    expect(ncclCommInitRank(&comms[i], kRanks, ids[i], rank) == ncclSuccess, "init");
  }
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kComms; ++i) rows[i].set(100 * i + rank + round);
    for (int place = 0; place < kComms; ++place) {
      const int i = rank == 0 ? place : kComms - 1 - place;
      begin(i == 0 ? "the call on the first communicator" : "the call on the second communicator");
      expect(ncclAllReduce(rows[i].at(), rows[i].at(), kElems, ncclInt64, ncclSum, comms[i],
                           rows[i].stream()) == ncclSuccess,
             "all_reduce");
    }
    for (int i = 0; i < kComms; ++i) {
      begin(i == 0 ? "the wait for the first all_reduce" : "the wait for the second all_reduce");
      expect(rows[i].last() == 2 * (100 * i + round) + 1, "the sum");
    }
  }
  begin("destroying communicators");
  for (ncclComm_t comm : comms) expect(ncclCommDestroy(comm) == ncclSuccess, "destroy");
}

}  // namespace

int main() {
  std::signal(SIGTERM, tell_and_end);
  ncclUniqueId ids[kComms];
  for (ncclUniqueId& id : ids) expect(ncclGetUniqueId(&id) == ncclSuccess, "id");
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.emplace_back([&, rank] { be_rank(ids, rank); });
  }
  for (std::thread& rank : ranks) rank.join();
  std::printf("opposite orders: all right\n");
}
