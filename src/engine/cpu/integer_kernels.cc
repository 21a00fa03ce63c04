// Kernels for integers. Where the sign makes no difference to the bits, signed types use the
// kernels of the unsigned ones.
#include "engine/cpu/targets.h"
//
#undef HWY_TARGET_INCLUDE
// NOLINTNEXTLINE(readability-identifier-naming)
#define HWY_TARGET_INCLUDE "engine/cpu/integer_kernels.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "engine/cpu/kernels.h"
#include "engine/cpu/vector_formats_inl.h"
#include "engine/cpu/vector_loops_inl.h"
#include "engine/cpu/vector_ops_inl.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::engine::HWY_NAMESPACE {

template <class Operator>
ReduceKernels by_size(DataType type) {
  switch (size_of(type)) {
    case 1: return reduce_kernels<Native<uint8_t>, Operator>();
    case 2: return reduce_kernels<Native<uint16_t>, Operator>();
    case 4: return reduce_kernels<Native<uint32_t>, Operator>();
    case 8: return reduce_kernels<Native<uint64_t>, Operator>();
  }
  return {};
}

template <class Operator>
ReduceKernels by_type(DataType type) {
  if (type == DataType::kInt8) return reduce_kernels<Native<int8_t>, Operator>();
  if (type == DataType::kInt16) return reduce_kernels<Native<int16_t>, Operator>();
  if (type == DataType::kInt32) return reduce_kernels<Native<int32_t>, Operator>();
  if (type == DataType::kInt64) return reduce_kernels<Native<int64_t>, Operator>();
  return by_size<Operator>(type);
}

ReduceKernels integer_reduce(DataType type, Op op) {
  switch (op) {
    case Op::kSum:
    case Op::kAvg:
    case Op::kPremulSum: return by_size<Sum>(type);
    case Op::kProd: return by_size<Prod>(type);
    case Op::kMin: return by_type<Min>(type);
    case Op::kMax: return by_type<Max>(type);
    case Op::kBitAnd: return by_size<BitAnd>(type);
    case Op::kBitOr: return by_size<BitOr>(type);
    case Op::kBitXor: return by_size<BitXor>(type);
  }
  return {};
}

void stream_copy(void* dst, const void* src, size_t bytes) {
  stream_bytes(static_cast<uint8_t*>(dst), static_cast<const uint8_t*>(src), bytes);
  hwy::FlushStream();
}

}  // namespace tutti::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::engine {

HWY_EXPORT(integer_reduce);
HWY_EXPORT(stream_copy);

ReduceKernels integer_reduce_kernels(DataType type, Op op) noexcept {
  return HWY_DYNAMIC_DISPATCH(integer_reduce)(type, op);
}

void copy_streaming(void* dst, const void* src, size_t bytes) noexcept {
  if (bytes < kBlockBytes) return copy(dst, src, bytes);
  HWY_DYNAMIC_DISPATCH(stream_copy)(dst, src, bytes);
}

}  // namespace tutti::engine
#endif
