// Kernels for the floats of 16 and 8 bits, which are calculated in float.
#include "engine/cpu/targets.h"
//
#undef HWY_TARGET_INCLUDE
// NOLINTNEXTLINE(readability-identifier-naming)
#define HWY_TARGET_INCLUDE "engine/cpu/narrow_float_kernels.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "engine/cpu/float_kernels_inl.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/vector_formats_inl.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::engine::HWY_NAMESPACE {

ReduceKernels narrow_float_reduce(DataType type, Op op) {
  if (type == DataType::kFloat16) return float_reduce_of<Half16>(op);
  if (type == DataType::kBFloat16) return float_reduce_of<Brain16>(op);
  if (type == DataType::kFloat8E4M3) return float_reduce_of<E4M3>(op);
  if (type == DataType::kFloat8E5M2) return float_reduce_of<E5M2>(op);
  return {};
}

ScaleKernels narrow_float_scale(DataType type) {
  if (type == DataType::kFloat16) return float_scale_of<Half16>();
  if (type == DataType::kBFloat16) return float_scale_of<Brain16>();
  if (type == DataType::kFloat8E4M3) return float_scale_of<E4M3>();
  if (type == DataType::kFloat8E5M2) return float_scale_of<E5M2>();
  return {};
}

}  // namespace tutti::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::engine {

HWY_EXPORT(narrow_float_reduce);
HWY_EXPORT(narrow_float_scale);

ReduceKernels narrow_float_reduce_kernels(DataType type, Op op) noexcept {
  return HWY_DYNAMIC_DISPATCH(narrow_float_reduce)(type, op);
}

ScaleKernels narrow_float_scale_kernels(DataType type) noexcept {
  return HWY_DYNAMIC_DISPATCH(narrow_float_scale)(type);
}

}  // namespace tutti::engine
#endif
