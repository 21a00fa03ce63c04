// What hosts need of a device to run daemons on it: memory, and launches. A GPU, or threads of the
// host where the daemons' code is tested without one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/cuda/daemon_state.h"
#include "tutti/result.h"

namespace tutti::engine::cuda {

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  // Zeroed. Freed with the device.
  [[nodiscard]] virtual Result<std::byte*> allocate(uint64_t bytes) = 0;
  // Of the host, which daemons reach at the same address; zeroed. Freed with the device.
  [[nodiscard]] virtual Result<std::byte*> allocate_shared(uint64_t bytes) = 0;
  // To memory of the device. Waits for nothing but the copy.
  [[nodiscard]] virtual Status write(std::byte* to, const void* from, uint64_t bytes) = 0;
  // Starts the daemon of a rank once its launch before has ended. Does not wait.
  [[nodiscard]] virtual Status launch(DaemonState* state, uint32_t rank, uint32_t num_blocks,
                                      uint32_t number) = 0;
};

}  // namespace tutti::engine::cuda
