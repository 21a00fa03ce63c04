// The daemon as a kernel.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "engine/cuda/daemon_state.h"

namespace tutti::engine::cuda {

// Loads its code, which waits for all streams: to be done before any of them waits for a daemon.
// `num_threads`: that each of its blocks has.
[[nodiscard]] cudaError_t load_daemon(cudaStream_t stream, uint32_t& num_threads);
// Starts a launch of the daemon behind what is in the stream. Does not wait. Without a state it
// ends at once.
[[nodiscard]] cudaError_t launch_daemon(DaemonState* state, const Launch& launch,
                                        uint32_t num_threads, cudaStream_t stream);

}  // namespace tutti::engine::cuda
