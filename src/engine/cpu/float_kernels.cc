// Kernels for float32 and float64.
#include "engine/cpu/targets.h"
//
#undef HWY_TARGET_INCLUDE
// NOLINTNEXTLINE(readability-identifier-naming)
#define HWY_TARGET_INCLUDE "engine/cpu/float_kernels.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "engine/cpu/float_kernels_inl.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/vector_formats_inl.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::engine::HWY_NAMESPACE {

ReduceKernels float_reduce(DataType type, Op op) {
  if (type == DataType::kFloat32) return float_reduce_of<Native<float>>(op);
  if (type == DataType::kFloat64) return float_reduce_of<Native<double>>(op);
  return {};
}

ScaleKernels float_scale(DataType type) {
  if (type == DataType::kFloat32) return float_scale_of<Native<float>>();
  if (type == DataType::kFloat64) return float_scale_of<Native<double>>();
  return {};
}

}  // namespace tutti::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::engine {

HWY_EXPORT(float_reduce);
HWY_EXPORT(float_scale);

ReduceKernels float_reduce_kernels(DataType type, Op op) noexcept {
  return HWY_DYNAMIC_DISPATCH(float_reduce)(type, op);
}

ScaleKernels float_scale_kernels(DataType type) noexcept {
  return HWY_DYNAMIC_DISPATCH(float_scale)(type);
}

}  // namespace tutti::engine
#endif
