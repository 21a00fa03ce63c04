// A rank's side of a task on a GPU: what exchange.h has on the host, and the same on the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tools/chaos/exchange.h"
#include "tools/chaos/gpu.h"

namespace tutti::tools::chaos {

class DeviceExchange {
 public:
  DeviceExchange(const Task& task, uint32_t place, uint32_t num_members)
      : host_(task, place, num_members) {}

  [[nodiscard]] const Task& task() const { return host_.task(); }
  // Of the device's memory, all of which begins at a multiple of kAlign.
  [[nodiscard]] uint64_t bytes() const;
  // Where that is: before the first of what follows.
  void place_at(std::byte* at) { at_ = at; }

  [[nodiscard]] Status fill(Gpu& gpu);
  [[nodiscard]] Call call() const;
  // Elements of the output that are not what they must be.
  [[nodiscard]] Result<uint64_t> count_wrong(Gpu& gpu);

  static constexpr uint64_t kAlign = 256;

 private:
  [[nodiscard]] uint64_t second_offset() const;
  // Where on the device what is here on the host is.
  [[nodiscard]] std::byte* there(const void* here) const;

  Exchange host_;
  std::byte* at_ = nullptr;
};

}  // namespace tutti::tools::chaos
