#include "engine/cpu/reduce.h"

#include <cstring>

#include "engine/cpu/kernels.h"

namespace tutti::engine {
namespace {

bool is_narrow_float(DataType type) {
  return type == DataType::kFloat16 || type == DataType::kBFloat16 ||
         type == DataType::kFloat8E4M3 || type == DataType::kFloat8E5M2;
}

ReduceKernels kernels_of(DataType type, Op op) noexcept {
  if (is_integer(type)) return integer_reduce_kernels(type, op);
  if (is_narrow_float(type)) return narrow_float_reduce_kernels(type, op);
  return float_reduce_kernels(type, op);
}

}  // namespace

ReduceFn reduce_function(DataType type, Op op, Stores stores) noexcept {
  const ReduceKernels kernels = kernels_of(type, op);
  return stores == Stores::kStreaming ? kernels.streaming : kernels.cached;
}

FoldFn fold_function(DataType type, Op op) noexcept { return kernels_of(type, op).fold; }

void copy(void* dst, const void* src, size_t bytes) noexcept {
  // A null pointer may come with no bytes, and memcpy forbids it.
  if (bytes != 0) std::memcpy(dst, src, bytes);
}

}  // namespace tutti::engine
