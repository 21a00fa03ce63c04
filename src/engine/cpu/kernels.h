// The tables behind reduce.h. Each function is defined in the file that is compiled once for every
// instruction set, and answers with the code for this CPU. A pointer is null where there is none.
#pragma once

#include <cstddef>

#include "engine/cpu/reduce.h"
#include "tutti/data_type.h"

namespace tutti::engine {

// Less than this is not streamed: the fence, 100 ns, would cost more than the cache does.
inline constexpr size_t kBlockBytes = 4096;

struct ReduceKernels {
  ReduceFn cached = nullptr;
  ReduceFn streaming = nullptr;
  FoldFn fold = nullptr;
};

using ScaleFn = void (*)(void* dst, const void* src, size_t elems, double by);

struct ScaleKernels {
  ScaleFn multiply = nullptr;
  ScaleFn divide = nullptr;
};

// integer_kernels.cc
ReduceKernels integer_reduce_kernels(DataType type, Op op) noexcept;

// float_kernels.cc: float32 and float64
ReduceKernels float_reduce_kernels(DataType type, Op op) noexcept;
ScaleKernels float_scale_kernels(DataType type) noexcept;

// narrow_float_kernels.cc: the floats of 16 and 8 bits
ReduceKernels narrow_float_reduce_kernels(DataType type, Op op) noexcept;
ScaleKernels narrow_float_scale_kernels(DataType type) noexcept;

}  // namespace tutti::engine
