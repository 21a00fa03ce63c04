// The GPU behind `tutti chaos --device cuda`: streams, memory, and ways to wait for all of it.
#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "base/try.h"
#include "tools/chaos/gpu.h"

namespace tutti::tools::chaos {
namespace {

constexpr int kDevice = 0;

Status checked(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return {};
  return Error{ErrorCode::kIo, std::string(what) + ": " + cudaGetErrorString(error)};
}

__global__ void stand_still(uint64_t ns) {
  uint64_t begin = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  for (uint64_t now = begin; now - begin < ns;) {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  }
}

// Each is another kernel, which is loaded when it is launched for the first time.
template <size_t kIndex>
__global__ void fresh(uint32_t* out) {
  if (out != nullptr) *out = kIndex;
}
constexpr size_t kNumFresh = 64;
using Fresh = void (*)(uint32_t*);
template <size_t... kIndices>
constexpr std::array<Fresh, sizeof...(kIndices)> fresh_kernels(
    std::index_sequence<kIndices...> /*all*/) {
  return {fresh<kIndices>...};
}

// Of the process: ranks that are threads share what has been loaded.
Fresh next_fresh() {
  static constexpr auto kKernels = fresh_kernels(std::make_index_sequence<kNumFresh>());
  static std::atomic<size_t> next = 0;
  return kKernels[next.fetch_add(1) % kNumFresh];
}

class CudaGpu : public Gpu {
 public:
  ~CudaGpu() override {
    for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
    if (own_ != nullptr) cudaStreamDestroy(own_);
    for (void* memory : memory_) cudaFree(memory);
  }

  Status open() {
    TUTTI_TRY(checked(cudaSetDevice(kDevice), "using the first GPU"));
    TUTTI_TRY(checked(cudaStreamCreateWithFlags(&own_, cudaStreamNonBlocking), "making a stream"));
    // Loaded now: later that would be a wait that nobody planned.
    return delay(own_, std::chrono::microseconds(1));
  }

  Result<DeviceCommunicator> communicator(const Communicator& comm) override {
    return DeviceCommunicator::create(comm, kDevice);
  }
  // By turns streams that the default stream waits for, and that wait for it, and others.
  Result<DeviceStream> make_stream() override {
    const unsigned flags = streams_.size() % 2 == 0 ? cudaStreamNonBlocking : cudaStreamDefault;
    cudaStream_t stream = nullptr;
    TUTTI_TRY(checked(cudaStreamCreateWithFlags(&stream, flags), "making a stream"));
    streams_.push_back(stream);
    return stream;
  }
  Result<std::byte*> allocate(uint64_t bytes) override {
    void* memory = nullptr;
    TUTTI_TRY(checked(cudaMalloc(&memory, bytes == 0 ? 1 : bytes), "taking memory of the GPU"));
    memory_.push_back(memory);
    return static_cast<std::byte*>(memory);
  }

  Status write(std::byte* to, std::span<const std::byte> from) override {
    TUTTI_TRY(checked(cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyHostToDevice, own_),
                      "writing"));
    return wait_for(own_);
  }
  Status read(std::span<std::byte> to, const std::byte* from) override {
    TUTTI_TRY(checked(cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDeviceToHost, own_),
                      "reading"));
    return wait_for(own_);
  }
  Status delay(DeviceStream stream, std::chrono::microseconds time) override {
    stand_still<<<1, 1, 0, stream>>>(static_cast<uint64_t>(time.count()) * 1000);
    return checked(cudaGetLastError(), "a kernel that stands still");
  }
  Status wait_for(DeviceStream stream) override {
    return checked(cudaStreamSynchronize(stream), "waiting for a stream");
  }

  Status wait_for_device(DeviceWait how) override {
    switch (how) {
      case DeviceWait::kSynchronize:
        return checked(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      case DeviceWait::kMemory: return take_and_give_back();
      case DeviceWait::kDefaultStream: return use_default_stream();
      case DeviceWait::kFirstLaunch:
        next_fresh()<<<1, 1, 0, own_>>>(nullptr);
        TUTTI_TRY(checked(cudaGetLastError(), "the first launch of a kernel"));
        return wait_for(own_);
    }
    return {};
  }

 private:
  static Status take_and_give_back() {
    constexpr size_t kBytes = size_t{1} << 20;
    void* memory = nullptr;
    TUTTI_TRY(checked(cudaMalloc(&memory, kBytes), "cudaMalloc"));
    return checked(cudaFree(memory), "cudaFree");
  }
  static Status use_default_stream() {
    stand_still<<<1, 1>>>(1000);
    TUTTI_TRY(checked(cudaGetLastError(), "a kernel in the default stream"));
    return checked(cudaStreamSynchronize(nullptr), "waiting for the default stream");
  }

  cudaStream_t own_ = nullptr;
  std::vector<cudaStream_t> streams_;
  std::vector<void*> memory_;
};

}  // namespace

Status check_has_gpus() { return {}; }

Result<std::unique_ptr<Gpu>> open_gpu() {
  auto gpu = std::make_unique<CudaGpu>();
  TUTTI_TRY(gpu->open());
  return Result<std::unique_ptr<Gpu>>(std::move(gpu));
}

}  // namespace tutti::tools::chaos
