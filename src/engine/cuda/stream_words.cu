#include <string>

#include "base/try.h"
#include "engine/cuda/driver.h"
#include "engine/cuda/stream_words.h"

namespace tutti::engine::cuda {
namespace {

using BatchMemOp = CUresult(CUstream, unsigned int, CUstreamBatchMemOpParams*, unsigned int);

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

Status put(cudaStream_t stream, CUstreamBatchMemOpParams operation) {
  static const auto operate = driver_function<BatchMemOp>("cuStreamBatchMemOp");
  TUTTI_TRY(operate);
  return checked((*operate)(stream, 1, &operation, 0), "putting operations into a stream");
}

}  // namespace

Status checked(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return {};
  const bool is_memory = error == cudaErrorMemoryAllocation;
  return Error{is_memory ? ErrorCode::kOutOfMemory : ErrorCode::kIo,
               std::string(what) + ": " + cudaGetErrorString(error)};
}

Status write_in_stream(cudaStream_t stream, const uint32_t* word, uint32_t value) {
  return put(stream, write_op(word, value));
}

Status wait_in_stream(cudaStream_t stream, const uint32_t* word, uint32_t value) {
  return put(stream, wait_op(word, value));
}

}  // namespace tutti::engine::cuda
