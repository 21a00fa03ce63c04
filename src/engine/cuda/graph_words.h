// Streams that are captured: nodes of graphs that write words and wait for them, as
// stream_words.h does in streams, and what graphs keep.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <span>

#include "engine/cuda/device.h"
#include "tutti/result.h"

namespace tutti::engine::cuda {

// An error: the capture is invalid, and says so at its end.
[[nodiscard]] Result<bool> is_captured(cudaStream_t stream);
// Behind what was captured last.
[[nodiscard]] Status capture_words(cudaStream_t stream, std::span<const Device::WordStep> steps);
[[nodiscard]] Status keep_for_graph(cudaStream_t stream, std::shared_ptr<void> what);

// While it lives, what the calling thread does that waits or takes memory ends no capture, of its
// own or of another thread: none of it is in a stream that is captured.
class BesideCaptures {
 public:
  BesideCaptures() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~BesideCaptures() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  BesideCaptures(const BesideCaptures&) = delete;
  BesideCaptures& operator=(const BesideCaptures&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace tutti::engine::cuda
