#include <span>
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

Status put(cudaStream_t stream, std::span<CUstreamBatchMemOpParams> operations) {
  static const auto operate = driver_function<BatchMemOp>("cuStreamBatchMemOp");
  TUTTI_TRY(operate);
  const auto num = static_cast<unsigned int>(operations.size());
  return checked((*operate)(stream, num, operations.data(), 0), "putting operations into a stream");
}

}  // namespace

Status checked(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return {};
  const bool is_memory = error == cudaErrorMemoryAllocation;
  return Error{is_memory ? ErrorCode::kOutOfMemory : ErrorCode::kIo,
               std::string(what) + ": " + cudaGetErrorString(error)};
}

Status write_in_stream(cudaStream_t stream, const uint32_t* word, uint32_t value) {
  CUstreamBatchMemOpParams operation = write_op(word, value);
  return put(stream, {&operation, 1});
}

Status write_and_wait_in_stream(cudaStream_t stream, const StreamWord& written,
                                const StreamWord& awaited) {
  CUstreamBatchMemOpParams operations[] = {write_op(written.word, written.value),
                                           wait_op(awaited.word, awaited.value)};
  return put(stream, operations);
}

}  // namespace tutti::engine::cuda
