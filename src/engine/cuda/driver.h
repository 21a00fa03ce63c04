// Functions of the driver, asked for by name: programs need not link libcuda, which only GPU
// machines have.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <string>

#include "tutti/result.h"

namespace tutti::engine::cuda {

template <class Function>
Result<Function*> driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) {
    return Error{ErrorCode::kUnsupported, std::string("the driver has no ") + name};
  }
  return reinterpret_cast<Function*>(function);
}

[[nodiscard]] inline Status checked(CUresult error, const char* what) {
  if (error == CUDA_SUCCESS) return {};
  return Error{ErrorCode::kIo, std::string(what) + ": error " + std::to_string(error)};
}

}  // namespace tutti::engine::cuda
