// GPUs as hosts of ranks: one for each that this process uses, for its life.
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>

#include "base/try.h"
#include "comm/cuda/device_group.h"
#include "engine/cuda/cuda_device.h"
#include "engine/cuda/using_device.h"
#include "tutti/device.h"

namespace tutti {
namespace {

using engine::cuda::UsingDevice;

Status checked(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return {};
  return Error{error == cudaErrorMemoryAllocation ? ErrorCode::kOutOfMemory : ErrorCode::kIo,
               std::string(what) + ": " + cudaGetErrorString(error)};
}

// Programs that are kept take half of it; what is under way at once has the rest. Only beyond that
// is memory taken from the driver while operations run.
constexpr uint64_t kReservedBytes = 2 * comm::LoadedPrograms::kMostBytes;

// What of the first piece of memory that a device takes (cuda_device.cu) is left beside that.
// Enough for a bucket of gradients, as PyTorch makes them.
constexpr uint64_t kStagingBytes = uint64_t{28} << 20;

// A fork is another process, with other addresses on the GPU.
uint64_t process_identity() {
  static const uint64_t number = [] {
    std::random_device random;
    return uint64_t{random()} << 32 | random();
  }();
  return number ^ static_cast<uint64_t>(getpid());
}

// Never destroyed: daemons of other ranks may look at a rank's memory until the process ends.
Result<comm::DeviceHost*> host_of(int ordinal) {
  static std::mutex mutex;
  static auto& hosts = *new std::map<int, std::unique_ptr<comm::DeviceHost>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<comm::DeviceHost>& host = hosts[ordinal];
  if (host) return host.get();
  TUTTI_ASSIGN(auto device, engine::cuda::CudaDevice::create(ordinal));
  comm::DeviceHost::Facts facts;
  facts.ordinal = ordinal;
  TUTTI_ASSIGN(facts.identity, device->identity());
  facts.process = process_identity();
  facts.reserved_bytes = kReservedBytes;
  facts.staging_bytes = kStagingBytes;
  facts.workers_for = [&gpu = *device](uint32_t num_ranks) { return gpu.workers_for(num_ranks); };
  host = std::make_unique<comm::DeviceHost>(std::move(device), std::move(facts));
  return host.get();
}

}  // namespace

Result<DeviceCommunicator> DeviceCommunicator::create(const Communicator& comm, int device) {
  const UsingDevice using_device(device);
  TUTTI_ASSIGN(comm::DeviceHost* const host, host_of(device));
  TUTTI_ASSIGN(auto group, comm::DeviceGroup::create(comm, *host));
  return DeviceCommunicator(std::move(group));
}

Result<int> current_device() {
  int device = 0;
  TUTTI_TRY(checked(cudaGetDevice(&device), "asking for the GPU in use"));
  return device;
}

Result<void*> allocate_on_device(uint64_t bytes) {
  void* memory = nullptr;
  TUTTI_TRY(checked(cudaMalloc(&memory, bytes), "taking memory of the GPU"));
  return memory;
}

Result<void*> allocate_on_device(uint64_t bytes, int device) {
  const UsingDevice using_device(device);
  return allocate_on_device(bytes);
}

Status free_on_device(void* memory) {
  return checked(cudaFree(memory), "giving back memory of the GPU");
}

}  // namespace tutti
