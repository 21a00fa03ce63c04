#include "tests/support/host_device/host_device.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <utility>

#include "base/try.h"
#include "comm/cuda/device_group.h"
#include "comm/cuda/device_host.h"
#include "tests/support/thread_device.h"

namespace tutti {
namespace {

// What is not the device's own is memory of the process, which daemons of this process reach and
// those of others do not: as memory of CUDA's pools.
class HostDevice : public test::ThreadDevice {
 public:
  HostDevice() : ThreadDevice(test::Sharing::kAsProcesses) { open_default_stream(); }

  Result<engine::cuda::Allocation> allocation_of(const void* at) override {
    auto known = ThreadDevice::allocation_of(at);
    if (known) return known;
    auto* const byte = static_cast<std::byte*>(const_cast<void*>(at));
    return engine::cuda::Allocation{reinterpret_cast<uint64_t>(at), byte, 1};
  }
};

uint64_t process_identity() {
  static const uint64_t number = [] {
    std::random_device random;
    return uint64_t{random()} << 32 | random();
  }();
  return number ^ static_cast<uint64_t>(getpid());
}

// One for each number, for the life of the process: as where there are GPUs.
comm::DeviceHost& host_of(int ordinal) {
  static std::mutex mutex;
  static auto& hosts = *new std::map<int, std::unique_ptr<comm::DeviceHost>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<comm::DeviceHost>& host = hosts[ordinal];
  if (host) return *host;
  comm::DeviceHost::Facts facts;
  facts.ordinal = ordinal;
  facts.identity = 1;  // all see each other's memory
  facts.process = process_identity();
  facts.workers_for = [](uint32_t /*num_ranks*/) { return 2U; };
  facts.presence = {.linger_ns = 20'000, .stay_ns = 200'000};
  host = std::make_unique<comm::DeviceHost>(std::make_unique<HostDevice>(), std::move(facts));
  return *host;
}

thread_local int g_current_device = 0;

// Never destroyed: threads of the library may outlive main.
struct UserMemory {
  static UserMemory& get() {
    static auto& memory = *new UserMemory;
    return memory;
  }
  std::mutex mutex;
  std::map<void*, int> devices;  // of each piece
};

}  // namespace

Result<DeviceCommunicator> DeviceCommunicator::create(const Communicator& comm, int device) {
  TUTTI_ASSIGN(auto group, comm::DeviceGroup::create(comm, host_of(device)));
  return DeviceCommunicator(std::move(group));
}

Result<int> current_device() {
  if (g_current_device < 0) return Error{ErrorCode::kNotFound, "there is no device here"};
  return g_current_device;
}

Result<void*> allocate_on_device(uint64_t bytes) {
  return allocate_on_device(bytes, g_current_device);
}

Result<void*> allocate_on_device(uint64_t bytes, int device) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) return Error{ErrorCode::kOutOfMemory, "the device is full"};
  UserMemory& known = UserMemory::get();
  const std::lock_guard lock(known.mutex);
  known.devices.emplace(memory, device);
  return memory;
}

Status free_on_device(void* memory) {
  UserMemory& known = UserMemory::get();
  {
    const std::lock_guard lock(known.mutex);
    if (known.devices.erase(memory) == 0) {
      return Error{ErrorCode::kInvalidArgument, "this memory is not of allocate_on_device"};
    }
  }
  std::free(memory);
  return {};
}

namespace test {

void set_current_device(int device) { g_current_device = device; }

uint64_t num_device_allocations() {
  UserMemory& known = UserMemory::get();
  const std::lock_guard lock(known.mutex);
  return known.devices.size();
}

uint64_t num_allocations_on(int device) {
  UserMemory& known = UserMemory::get();
  const std::lock_guard lock(known.mutex);
  const auto is_there = [&](const auto& one) { return one.second == device; };
  return static_cast<uint64_t>(std::count_if(known.devices.begin(), known.devices.end(), is_there));
}

}  // namespace test
}  // namespace tutti
