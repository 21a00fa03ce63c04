// tutti/device.h without a GPU: daemons, streams and all run on threads of the host, and memory of
// the process is the device's. What the calls below change is about the calling thread's device, as
// CUDA's are.
#pragma once

#include <cstdint>

#include "tests/support/thread_stream.h"
#include "tutti/device.h"

namespace tutti::test {

// What current_device() answers in the calling thread, as cudaSetDevice; negative: that it cannot.
// Devices of different numbers differ in their default streams and in what was allocated on them,
// but ranks of one communicator may be on several.
void set_current_device(int device);
// Of allocate_on_device, not freed yet.
[[nodiscard]] uint64_t num_device_allocations();
[[nodiscard]] uint64_t num_allocations_on(int device);

}  // namespace tutti::test
