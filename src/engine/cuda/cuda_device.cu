#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/try.h"
#include "engine/cuda/cuda_device.h"
#include "engine/cuda/kernel.h"

namespace tutti::engine::cuda {
namespace {

constexpr uint64_t kSlabBytes = uint64_t{8} << 20;
constexpr uint64_t kAlign = 256;
// Beyond this a block more moves hardly more: HBM is full (bench/results/cuda.md).
constexpr uint32_t kMostWorkers = 64;

Status checked(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return {};
  const bool is_memory = error == cudaErrorMemoryAllocation;
  return Error{is_memory ? ErrorCode::kOutOfMemory : ErrorCode::kIo,
               std::string(what) + ": " + cudaGetErrorString(error)};
}

}  // namespace

Result<std::unique_ptr<CudaDevice>> CudaDevice::create(int ordinal) {
  // Streams that share a connection wait for each other: a daemon behind a stream that waits for
  // that daemon. The driver's default is 8, its most 32; it looks before its first call.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  std::unique_ptr<CudaDevice> device(new CudaDevice(ordinal));
  TUTTI_TRY(checked(cudaSetDevice(ordinal), "using the GPU"));
  TUTTI_TRY(checked(cudaStreamCreateWithFlags(&device->copies_, cudaStreamNonBlocking),
                    "making a stream"));
  return Result<std::unique_ptr<CudaDevice>>(std::move(device));
}

CudaDevice::~CudaDevice() {
  cudaSetDevice(ordinal_);
  for (cudaStream_t stream : streams_) {
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
  }
  if (copies_ != nullptr) cudaStreamDestroy(copies_);
  for (const Slab& slab : memory_.slabs) cudaFree(slab.at);
  for (const Slab& slab : shared_.slabs) cudaFreeHost(slab.at);
}

Result<std::byte*> CudaDevice::make_slab(bool is_shared, uint64_t bytes) {
  void* at = nullptr;
  if (is_shared) {
    TUTTI_TRY(checked(cudaHostAlloc(&at, bytes, cudaHostAllocMapped | cudaHostAllocPortable),
                      "taking memory that host and GPU share"));
    std::fill_n(static_cast<std::byte*>(at), bytes, std::byte{0});
    return static_cast<std::byte*>(at);
  }
  TUTTI_TRY(checked(cudaMalloc(&at, bytes), "taking memory of the GPU"));
  TUTTI_TRY(checked(cudaMemsetAsync(at, 0, bytes, copies_), "clearing memory of the GPU"));
  TUTTI_TRY(checked(cudaStreamSynchronize(copies_), "clearing memory of the GPU"));
  return static_cast<std::byte*>(at);
}

Result<std::byte*> CudaDevice::take(Slabs& from, uint64_t bytes) {
  bytes = (bytes + kAlign - 1) / kAlign * kAlign;
  const std::lock_guard lock(mutex_);
  TUTTI_TRY(checked(cudaSetDevice(ordinal_), "using the GPU"));
  if (from.slabs.empty() || from.slabs.back().bytes - from.slabs.back().used < bytes) {
    const uint64_t size = std::max(bytes, kSlabBytes);
    TUTTI_ASSIGN(std::byte* const at, make_slab(from.is_shared, size));
    from.slabs.push_back({at, 0, size});
  }
  Slab& slab = from.slabs.back();
  slab.used += bytes;
  return slab.at + slab.used - bytes;
}

Result<std::byte*> CudaDevice::allocate(uint64_t bytes) { return take(memory_, bytes); }
Result<std::byte*> CudaDevice::allocate_shared(uint64_t bytes) { return take(shared_, bytes); }

Status CudaDevice::write(std::byte* to, const void* from, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  TUTTI_TRY(checked(cudaSetDevice(ordinal_), "using the GPU"));
  TUTTI_TRY(checked(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, copies_),
                    "writing to the GPU"));
  return checked(cudaStreamSynchronize(copies_), "writing to the GPU");
}

Result<cudaStream_t> CudaDevice::stream_of(uint32_t rank) {
  const std::lock_guard lock(mutex_);
  while (streams_.size() <= rank) {
    int lowest = 0;
    int highest = 0;
    cudaStream_t stream = nullptr;
    TUTTI_TRY(checked(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "using the GPU"));
    TUTTI_TRY(checked(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, highest),
                      "making a stream"));
    streams_.push_back(stream);
  }
  return streams_[rank];
}

Status CudaDevice::launch(DaemonState* state, uint32_t rank, uint32_t num_blocks, uint32_t number) {
  TUTTI_TRY(checked(cudaSetDevice(ordinal_), "using the GPU"));
  TUTTI_ASSIGN(const cudaStream_t stream, stream_of(rank));
  return checked(launch_daemon(state, num_blocks, number, stream), "launching a daemon");
}

uint32_t CudaDevice::workers_for(uint32_t num_ranks) const {
  int num_processors = 0;
  cudaDeviceGetAttribute(&num_processors, cudaDevAttrMultiProcessorCount, ordinal_);
  const auto blocks = static_cast<uint32_t>(num_processors) / num_ranks;
  return std::clamp<uint32_t>(blocks > 1 ? blocks - 1 : 1, 1, kMostWorkers);
}

}  // namespace tutti::engine::cuda
