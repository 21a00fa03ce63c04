// What chaos does with a GPU: one of these for each rank. A program has either GPUs (cuda/), or
// says that it has none (no_gpu.cc); tests have threads of the host.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "tools/chaos/device_plan.h"
#include "tutti/communicator.h"
#include "tutti/device.h"
#include "tutti/result.h"

namespace tutti::tools::chaos {

// One thread at a time. Streams and memory are kept as long as it is.
class Gpu {
 public:
  Gpu() = default;
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  virtual ~Gpu() = default;

  // All ranks of `comm` call it.
  [[nodiscard]] virtual Result<DeviceCommunicator> communicator(const Communicator& comm) = 0;
  [[nodiscard]] virtual Result<DeviceStream> make_stream() = 0;
  // May wait for the whole device.
  [[nodiscard]] virtual Result<std::byte*> allocate(uint64_t bytes) = 0;
  // These wait for the copy and for nothing else.
  [[nodiscard]] virtual Status write(std::byte* to, std::span<const std::byte> from) = 0;
  [[nodiscard]] virtual Status read(std::span<std::byte> to, const std::byte* from) = 0;
  // The stream stands still for so long when it comes to it.
  [[nodiscard]] virtual Status delay(DeviceStream stream, std::chrono::microseconds time) = 0;
  // Waits for what is in the stream.
  [[nodiscard]] virtual Status wait_for(DeviceStream stream) = 0;
  // Waits for all streams of the process, one way or another.
  [[nodiscard]] virtual Status wait_for_device(DeviceWait how) = 0;
};

// Whether this program can have GPUs at all; if not, why.
[[nodiscard]] Status check_has_gpus();
// The first one.
[[nodiscard]] Result<std::unique_ptr<Gpu>> open_gpu();

}  // namespace tutti::tools::chaos
