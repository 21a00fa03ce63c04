// The daemon as a kernel.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "engine/cuda/daemon_state.h"

namespace tutti::engine::cuda {

// Starts a launch of the daemon behind what is in the stream. Does not wait.
[[nodiscard]] cudaError_t launch_daemon(DaemonState* state, uint32_t num_blocks, uint32_t launch,
                                        cudaStream_t stream);

}  // namespace tutti::engine::cuda
