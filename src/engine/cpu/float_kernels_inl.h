// The kernels that any floating-point format has. Included once for each instruction set.
#include "engine/cpu/targets.h"
//
#include <hwy/highway.h>

#include "engine/cpu/kernels.h"
#include "engine/cpu/vector_loops_inl.h"
#include "engine/cpu/vector_ops_inl.h"

#if defined(TUTTI_FLOAT_KERNELS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_FLOAT_KERNELS_INL_H
#undef TUTTI_FLOAT_KERNELS_INL_H
#else
#define TUTTI_FLOAT_KERNELS_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tutti::engine::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct Quotient {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D, hn::Vec<D> a, hn::Vec<D> b) {
    return hn::Div(a, b);
  }
};

template <class Format>
ScaleKernels float_scale_of() {
  return {scale_by<Format, Prod>, scale_by<Format, Quotient>};
}

template <class Format>
ReduceKernels float_reduce_of(Op op) {
  switch (op) {
    case Op::kSum:
    case Op::kAvg:
    case Op::kPremulSum: return reduce_kernels<Format, Sum>();
    case Op::kProd: return reduce_kernels<Format, Prod>();
    case Op::kMin: return reduce_kernels<Format, Min>();
    case Op::kMax: return reduce_kernels<Format, Max>();
    case Op::kBitAnd:
    case Op::kBitOr:
    case Op::kBitXor: return {};
  }
  return {};
}

}  // namespace tutti::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
