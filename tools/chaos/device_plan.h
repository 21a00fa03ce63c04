// What a rank enqueues in a batch: which task in which stream, in which order, and where it waits
// for the whole device. A function of the settings alone, as workload.h.
//
// Streams bring waits of their own: a task waits for those before it in its stream, on each rank
// for others, and a rank that waits for the device waits for all that it has enqueued and enqueues
// nothing meanwhile. No deadlock, because all waits go one way along an order of the batch's tasks,
// the *line*, which is the same on all ranks and which nobody follows:
// - each stream of each rank has its tasks in the order of the line; which stream a task is in, and
//   which stream is next, is each rank's own choice;
// - a rank waits for the device only where what it has enqueued is a beginning of the line (its own
//   tasks of it). Of all ranks that wait, one has the shortest beginning; all others have enqueued
//   it, or will before they wait. So it goes on.
// Ranks that are threads of one process wait for each other's streams too, which goes no way at
// all: they wait for the device only when all of them have enqueued the whole batch.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tools/chaos/settings.h"
#include "tools/chaos/workload.h"

namespace tutti::tools::chaos {

// Ways to wait for the whole device.
enum class DeviceWait : uint8_t {
  kSynchronize,    // cudaDeviceSynchronize
  kMemory,         // cudaMalloc and cudaFree
  kDefaultStream,  // something in the default stream
  kFirstLaunch,    // of a kernel, which loads it
};
inline constexpr DeviceWait kDeviceWaits[] = {DeviceWait::kSynchronize, DeviceWait::kMemory,
                                              DeviceWait::kDefaultStream, DeviceWait::kFirstLaunch};
[[nodiscard]] std::string_view to_string(DeviceWait wait) noexcept;

// A task that is enqueued, or a wait.
struct Act {
  uint32_t task = 0;
  uint32_t stream = 0;
  std::optional<DeviceWait> wait = std::nullopt;
};

struct DevicePlan {
  std::vector<Act> acts;
  // When the whole batch has been enqueued: where ranks are threads, by all of them.
  std::vector<DeviceWait> waits_at_end;
};

[[nodiscard]] DevicePlan make_device_plan(const Settings& settings, const Workload& workload,
                                          uint32_t rank, const Batch& batch);

}  // namespace tutti::tools::chaos
