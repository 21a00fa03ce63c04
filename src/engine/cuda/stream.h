// Operations in the order of a CUDA stream: each begins when the stream has come to it, and what
// comes behind in the stream waits for it. No thread of the host is on the way.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "engine/cuda/cuda_device.h"
#include "engine/cuda/daemon.h"
#include "engine/cuda/watch.h"

namespace tutti::engine::cuda {

class Stream {
 public:
  // All outlive it; the stream is the caller's.
  static Result<Stream> create(CudaDevice& device, Daemon& daemon, Watch& watch,
                               cudaStream_t stream);

  // One thread at a time, as for the stream itself. `request.stream` is filled in here.
  [[nodiscard]] Status submit(DeviceRequest request);

 private:
  Stream(Daemon& daemon, Watch& watch, cudaStream_t stream, StreamWords* words)
      : daemon_(&daemon), watch_(&watch), stream_(stream), words_(words) {}

  Daemon* daemon_;
  Watch* watch_;
  cudaStream_t stream_;
  StreamWords* words_;
  uint32_t num_submitted_ = 0;
};

}  // namespace tutti::engine::cuda
