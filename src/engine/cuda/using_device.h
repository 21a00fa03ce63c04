// The GPU that the calling thread uses, for a while: it is the caller's to choose, so whatever
// uses another one leaves it as it was.
#pragma once

#include <cuda_runtime_api.h>

#include "base/library_thread.h"

namespace tutti::engine::cuda {

class UsingDevice {
 public:
  // If the GPU cannot be used, what is done with it says so.
  explicit UsingDevice(int ordinal) {
    // Threads of ours begin with GPU 0, and to go back to it would open it.
    const bool goes_back = !base::g_is_library_thread;
    has_before_ = goes_back && cudaGetDevice(&before_) == cudaSuccess && before_ != ordinal;
    cudaSetDevice(ordinal);  // also if it is in use: it may not have been opened in this thread
  }
  ~UsingDevice() {
    if (has_before_) cudaSetDevice(before_);
  }
  UsingDevice(const UsingDevice&) = delete;
  UsingDevice& operator=(const UsingDevice&) = delete;

 private:
  int before_ = 0;
  bool has_before_ = false;  // another one than that
};

}  // namespace tutti::engine::cuda
