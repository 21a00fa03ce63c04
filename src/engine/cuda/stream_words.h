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
// Writes one, then waits until the other has come to its value; words wrap around. Both or none:
// one call of the driver, which takes longer than anything else on the way of a small operation.
struct StreamWord {
  const uint32_t* word;
  uint32_t value;
};
[[nodiscard]] Status write_and_wait_in_stream(cudaStream_t stream, const StreamWord& written,
                                              const StreamWord& awaited);

}  // namespace tutti::engine::cuda
