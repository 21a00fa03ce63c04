// Words that a stream writes and waits for, by the driver's own operations: no kernel and no thread
// of the host takes part.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "tutti/result.h"

namespace tutti::engine::cuda {

// The error that CUDA gave, and what it was about.
[[nodiscard]] Status checked(cudaError_t error, const char* what);

[[nodiscard]] Status write_in_stream(cudaStream_t stream, const uint32_t* word, uint32_t value);
// Until the word has come to the value; words wrap around.
[[nodiscard]] Status wait_in_stream(cudaStream_t stream, const uint32_t* word, uint32_t value);

}  // namespace tutti::engine::cuda
