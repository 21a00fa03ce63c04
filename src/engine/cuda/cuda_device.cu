#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "base/try.h"
#include "engine/cuda/cuda_device.h"
#include "engine/cuda/driver.h"
#include "engine/cuda/graph_words.h"
#include "engine/cuda/kernel.h"
#include "engine/cuda/stream_words.h"
#include "engine/cuda/using_device.h"
#include "engine/cuda/wire.h"

namespace tutti::engine::cuda {
namespace {

// Streams that share a connection to the GPU wait for each other: a daemon that is launched behind
// a stream that waits for that daemon hangs. The driver has 8 connections by default and 32 at
// most, and looks how many are wanted when it is first called: often before anybody calls tutti. So
// this is said when the program is loaded. What the user has set stays.
constexpr int kMostConnections = 32;
// Under MPS all processes share so many, and one that gets none cannot begin.
constexpr int kConnectionsOfMps = 96;
constexpr int kLikelyRanks = 8;

bool is_under_mps() {
  const char* const directory = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  const std::string control =
      std::string(directory != nullptr ? directory : "/tmp/nvidia-mps") + "/control";
  return access(control.c_str(), F_OK) == 0;
}

// Processes that share the GPU, as far as launchers say.
int likely_ranks() {
  for (const char* const name : {"TUTTI_NUM_RANKS", "LOCAL_WORLD_SIZE",
                                 "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "WORLD_SIZE"}) {
    const char* const text = std::getenv(name);
    const int number = text != nullptr ? std::atoi(text) : 0;
    if (number > 0) return number;
  }
  return kLikelyRanks;
}

[[gnu::constructor]] void ask_for_connections() {
  const int wanted = is_under_mps() ? kConnectionsOfMps / likely_ranks() : kMostConnections;
  const std::string number = std::to_string(std::clamp(wanted, 1, kMostConnections));
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", number.c_str(), 0);
}

// The driver gives a stream its connection when the stream is first used, and streams that several
// threads use for the first time at the same moment may get the same one (measured). So nobody here
// uses a stream for the first time beside others; what users have used so before parts when it is
// used alone.
std::mutex g_first_uses;

// Of the GPU's memory; the first is shared with other processes from the beginning.
constexpr uint64_t kSlabBytes = uint64_t{64} << 20;
constexpr uint64_t kSharedSlabBytes = uint64_t{4} << 20;
constexpr uint64_t kAlign = 256;
// Beyond this a block more moves hardly more: HBM is full (bench/results/cuda.md).
constexpr uint32_t kMostWorkers = 64;

using QueryStream = CUresult(CUstream);
using GetAttributes = CUresult(unsigned int, CUpointer_attribute*, void**, CUdeviceptr);

}  // namespace

Result<std::unique_ptr<CudaDevice>> CudaDevice::create(int ordinal) {
  const UsingDevice using_device(ordinal);
  int used = -1;
  TUTTI_TRY(checked(cudaGetDevice(&used), "using the GPU"));
  if (used != ordinal) {
    static_cast<void>(cudaGetLastError());  // it is no error of the user's next call
    return Error{ErrorCode::kNotFound, "there is no GPU " + std::to_string(ordinal)};
  }
  std::unique_ptr<CudaDevice> device(new CudaDevice(ordinal));
  TUTTI_TRY(checked(cudaStreamCreateWithFlags(&device->copies_, cudaStreamNonBlocking),
                    "making a stream"));
  // Now: loading a kernel waits for all streams, and later some wait for the daemon.
  {
    const std::lock_guard lock(g_first_uses);
    TUTTI_TRY(checked(load_daemon(device->copies_, device->num_threads_), "loading the daemon"));
  }
  TUTTI_ASSIGN(std::byte* const settled, device->allocate(sizeof(uint32_t)));
  device->settled_ = reinterpret_cast<uint32_t*>(settled);
  return Result<std::unique_ptr<CudaDevice>>(std::move(device));
}

CudaDevice::~CudaDevice() {
  const UsingDevice using_device(ordinal_);
  for (cudaStream_t stream : streams_) {
    if (stream == nullptr) continue;
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
  const UsingDevice using_device(ordinal_);
  const BesideCaptures beside_captures;
  if (from.slabs.empty() || from.slabs.back().bytes - from.slabs.back().used < bytes) {
    const uint64_t size = std::max(bytes, from.is_shared ? kSharedSlabBytes : kSlabBytes);
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
  const std::lock_guard lock(copying_);
  const UsingDevice using_device(ordinal_);
  const BesideCaptures beside_captures;
  TUTTI_TRY(checked(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, copies_),
                    "writing to the GPU"));
  return checked(cudaStreamSynchronize(copies_), "writing to the GPU");
}

Status CudaDevice::read(void* to, const std::byte* from, uint64_t bytes) {
  const std::lock_guard lock(copying_);
  const UsingDevice using_device(ordinal_);
  const BesideCaptures beside_captures;
  TUTTI_TRY(checked(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, copies_),
                    "reading from the GPU"));
  return checked(cudaStreamSynchronize(copies_), "reading from the GPU");
}

Status CudaDevice::clear(std::byte* at, uint64_t bytes) {
  const std::lock_guard lock(copying_);
  const UsingDevice using_device(ordinal_);
  const BesideCaptures beside_captures;
  TUTTI_TRY(checked(cudaMemsetAsync(at, 0, bytes, copies_), "clearing memory of the GPU"));
  return checked(cudaStreamSynchronize(copies_), "clearing memory of the GPU");
}

// Both streams, now: a driver that is asked for one may wait for others.
Status CudaDevice::expect_daemon(uint32_t daemon) {
  const UsingDevice using_device(ordinal_);
  const BesideCaptures beside_captures;
  int lowest = 0;
  int highest = 0;
  TUTTI_TRY(checked(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "using the GPU"));
  for (const uint32_t row : {2 * daemon, 2 * daemon + 1}) {
    if (stream_of(row) != nullptr) continue;
    cudaStream_t stream = nullptr;
    TUTTI_TRY(checked(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, highest),
                      "making a stream"));
    {
      const std::lock_guard lock(streams_mutex_);
      if (streams_.size() <= row) streams_.resize(row + 1, nullptr);
      streams_[row] = stream;
    }
    const std::lock_guard first_use(g_first_uses);
    TUTTI_TRY(checked(launch_daemon(nullptr, {}, num_threads_, stream), "launching a daemon"));
  }
  return {};
}

cudaStream_t CudaDevice::stream_of(uint32_t row) {
  const std::lock_guard lock(streams_mutex_);
  return row < streams_.size() ? streams_[row] : nullptr;
}

Status CudaDevice::launch(DaemonState* state, uint32_t daemon, const Launch& launch) {
  const UsingDevice using_device(ordinal_);
  const BesideCaptures beside_captures;
  const uint32_t row = 2 * daemon + (launch.first_block == 0 ? 0 : 1);
  return checked(launch_daemon(state, launch, num_threads_, stream_of(row)), "launching a daemon");
}

// By the driver, so that "not ready" is no error of the user's next call; and in a mode in which
// such a question does not end what another thread captures.
Status CudaDevice::health(uint32_t daemon) {
  static const auto query = driver_function<QueryStream>("cuStreamQuery");
  TUTTI_TRY(query);
  TUTTI_TRY(checked(cudaSetDevice(ordinal_), "using the GPU"));
  const BesideCaptures beside_captures;
  const CUresult result = (*query)(stream_of(2 * daemon));
  if (result == CUDA_ERROR_NOT_READY) return {};
  return checked(result, "running a daemon");
}

Result<Allocation> CudaDevice::allocation_of(const void* at) {
  static const auto get = driver_function<GetAttributes>("cuPointerGetAttributes");
  TUTTI_TRY(get);
  unsigned long long id = 0;
  CUdeviceptr base = 0;
  size_t bytes = 0;
  unsigned int type = 0;
  unsigned int is_managed = 0;
  int ordinal = -1;
  CUpointer_attribute names[] = {
      CU_POINTER_ATTRIBUTE_BUFFER_ID,  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
      CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
      CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* values[] = {&id, &base, &bytes, &type, &is_managed, &ordinal};
  const UsingDevice using_device(ordinal_);
  TUTTI_TRY(checked((*get)(6, names, values, reinterpret_cast<CUdeviceptr>(at)),
                    "asking what memory is"));
  // What the driver does not know has no type.
  if (base == 0 || type == 0) return Error{ErrorCode::kUnsupported, "is not memory of the GPU"};
  if (is_managed == 0 && type != CU_MEMORYTYPE_DEVICE) {
    return Error{ErrorCode::kUnsupported, "is memory of the host, not of the GPU"};
  }
  if (is_managed == 0 && ordinal != ordinal_) {
    return Error{ErrorCode::kUnsupported, "is memory of GPU " + std::to_string(ordinal) +
                                              ", and the communicator is on " +
                                              std::to_string(ordinal_)};
  }
  return Allocation{id, reinterpret_cast<std::byte*>(base), bytes};
}

Result<SharedRegion> CudaDevice::share(const Allocation& allocation) {
  const UsingDevice using_device(ordinal_);
  const BesideCaptures beside_captures;
  SharedRegion region{};
  cudaIpcMemHandle_t handle{};
  static_assert(sizeof handle == sizeof region.handle);
  if (cudaIpcGetMemHandle(&handle, allocation.base) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // it is no error of the user's next call
    return Error{ErrorCode::kUnsupported, "CUDA does not share this memory between processes"};
  }
  std::memcpy(region.handle, &handle, sizeof handle);
  region.base = reinterpret_cast<uint64_t>(allocation.base);
  region.bytes = allocation.bytes;
  return region;
}

Result<std::byte*> CudaDevice::map(const SharedRegion& region) {
  const UsingDevice using_device(ordinal_);
  const BesideCaptures beside_captures;
  cudaIpcMemHandle_t handle{};
  std::memcpy(&handle, region.handle, sizeof handle);
  void* at = nullptr;
  TUTTI_TRY(checked(cudaIpcOpenMemHandle(&at, handle, cudaIpcMemLazyEnablePeerAccess),
                    "mapping memory of another process"));
  return static_cast<std::byte*>(at);
}

Status CudaDevice::settle(StreamHandle stream) {
  const UsingDevice using_device(ordinal_);
  const std::lock_guard lock(g_first_uses);
  return write_in_stream(static_cast<cudaStream_t>(stream), settled_, 1);
}

Status CudaDevice::write_word(StreamHandle stream, uint32_t* word, uint32_t value) {
  const UsingDevice using_device(ordinal_);  // whose default stream it may be
  return write_in_stream(static_cast<cudaStream_t>(stream), word, value);
}

Status CudaDevice::arm(StreamHandle stream, StreamWords* words, uint32_t number, uint32_t gate) {
  const UsingDevice using_device(ordinal_);
  return write_and_wait_in_stream(static_cast<cudaStream_t>(stream), {&words->armed, number},
                                  {&words->gate, gate});
}

Status CudaDevice::copy(StreamHandle stream, void* to, const void* from, uint64_t bytes) {
  const UsingDevice using_device(ordinal_);
  return checked(
      cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, static_cast<cudaStream_t>(stream)),
      "copying in a stream");
}

Result<uint64_t> CudaDevice::stream_id(StreamHandle stream) {
  const UsingDevice using_device(ordinal_);
  unsigned long long id = 0;
  TUTTI_TRY(
      checked(cudaStreamGetId(static_cast<cudaStream_t>(stream), &id), "looking at a stream"));
  return uint64_t{id};
}

Result<bool> CudaDevice::is_recording(StreamHandle stream) {
  const UsingDevice using_device(ordinal_);
  return is_captured(static_cast<cudaStream_t>(stream));
}

Status CudaDevice::record(StreamHandle stream, std::span<const WordStep> steps) {
  const UsingDevice using_device(ordinal_);
  return capture_words(static_cast<cudaStream_t>(stream), steps);
}

Status CudaDevice::keep_for(StreamHandle stream, std::shared_ptr<void> what) {
  return keep_for_graph(static_cast<cudaStream_t>(stream), std::move(what));
}

Result<uint64_t> CudaDevice::identity() const {
  cudaDeviceProp facts{};
  TUTTI_TRY(checked(cudaGetDeviceProperties(&facts, ordinal_), "asking which GPU it is"));
  uint64_t words[2];
  static_assert(sizeof words == sizeof facts.uuid);
  std::memcpy(words, &facts.uuid, sizeof words);
  return words[0] ^ words[1];
}

uint32_t CudaDevice::workers_for(uint32_t num_ranks) const {
  int num_processors = 0;
  cudaDeviceGetAttribute(&num_processors, cudaDevAttrMultiProcessorCount, ordinal_);
  const auto blocks = static_cast<uint32_t>(num_processors) / num_ranks;
  return std::clamp<uint32_t>(blocks > 1 ? blocks - 1 : 1, 1, kMostWorkers);
}

}  // namespace tutti::engine::cuda
