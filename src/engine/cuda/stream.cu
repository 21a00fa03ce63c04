#include <cuda.h>

#include <string>

#include "base/try.h"
#include "engine/cuda/stream.h"

namespace tutti::engine::cuda {
namespace {

// The driver is asked for by name: programs need not link libcuda, which only GPU machines have.
using BatchMemOp = CUresult (*)(CUstream, unsigned int, CUstreamBatchMemOpParams*, unsigned int);

Result<BatchMemOp> batch_mem_op() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  const cudaError_t error = cudaGetDriverEntryPointByVersion("cuStreamBatchMemOp", &function, 12000,
                                                             cudaEnableDefault, &found);
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) {
    return Error{ErrorCode::kUnsupported, "the driver cannot write words from a stream"};
  }
  return reinterpret_cast<BatchMemOp>(function);
}

CUstreamBatchMemOpParams write_op(const uint32_t* word, uint32_t value) {
  CUstreamBatchMemOpParams op{};
  op.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  op.writeValue.address = reinterpret_cast<CUdeviceptr>(word);
  op.writeValue.value = value;
  op.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
  return op;
}

CUstreamBatchMemOpParams wait_op(const uint32_t* word, uint32_t value) {
  CUstreamBatchMemOpParams op{};
  op.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  op.waitValue.address = reinterpret_cast<CUdeviceptr>(word);
  op.waitValue.value = value;
  op.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;  // cyclic: the words wrap around
  return op;
}

}  // namespace

Result<Stream> Stream::create(CudaDevice& device, Daemon& daemon, Watch& watch,
                              cudaStream_t stream) {
  TUTTI_ASSIGN(std::byte* const memory, device.allocate(sizeof(StreamWords)));
  return Stream(daemon, watch, stream, reinterpret_cast<StreamWords*>(memory));
}

Status Stream::submit(DeviceRequest request) {
  TUTTI_ASSIGN(const BatchMemOp operate, batch_mem_op());
  const uint32_t value = ++num_submitted_;
  request.stream = words_;
  request.stream_value = value;
  TUTTI_ASSIGN(const Daemon::Ticket ticket, daemon_->submit(request));
  watch_->add(*daemon_, ticket);
  CUstreamBatchMemOpParams operations[] = {write_op(&words_->armed, value),
                                           wait_op(&words_->gate, value)};
  if (operate(stream_, 2, operations, 0) == CUDA_SUCCESS) return {};
  return Error{ErrorCode::kIo, "the stream does not take operations: its context has failed"};
}

}  // namespace tutti::engine::cuda
