// The operators on vectors of lanes. Included once for each instruction set.
#include "engine/cpu/targets.h"
//
#include <hwy/highway.h>

#include <cstdint>

#if defined(TUTTI_VECTOR_OPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_VECTOR_OPS_INL_H
#undef TUTTI_VECTOR_OPS_INL_H
#else
#define TUTTI_VECTOR_OPS_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tutti::engine::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// No instruction set multiplies bytes: 16-bit products of the even and of the odd ones do.
template <class D>
HWY_INLINE hn::Vec<D> multiply_bytes(D d, hn::Vec<D> a, hn::Vec<D> b) {
  const hn::RepartitionToWide<D> wide;
  const auto odd_bytes = hn::Set(wide, 0xff00);
  const auto a16 = hn::BitCast(wide, a);
  const auto b16 = hn::BitCast(wide, b);
  const auto even = hn::AndNot(odd_bytes, hn::Mul(a16, b16));
  const auto odd = hn::Mul(hn::ShiftRight<8>(a16), hn::And(b16, odd_bytes));
  return hn::BitCast(d, hn::Or(even, odd));
}

// Before AVX-512, from products of the 32-bit halves; the upper two only reach the upper half.
template <class D>
HWY_INLINE hn::Vec<D> multiply_64(D, hn::Vec<D> a, hn::Vec<D> b) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (hn::MaxLanes(D()) > 1) return hn::Mul(a, b);
#endif
  const hn::RepartitionToNarrow<D> halves;
  const auto a32 = hn::BitCast(halves, a);
  const auto b32 = hn::BitCast(halves, b);
  const auto a_high = hn::BitCast(halves, hn::ShiftRight<32>(a));
  const auto b_high = hn::BitCast(halves, hn::ShiftRight<32>(b));
  const auto cross = hn::Add(hn::MulEven(a_high, b32), hn::MulEven(a32, b_high));
  return hn::Add(hn::MulEven(a32, b32), hn::ShiftLeft<32>(cross));
}

struct Sum {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D, hn::Vec<D> a, hn::Vec<D> b) {
    return hn::Add(a, b);
  }
};

struct Prod {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> a, hn::Vec<D> b) {
    using T = hn::TFromD<D>;
    constexpr bool kOneOfMany = hn::MaxLanes(D()) == 1 && HWY_TARGET != HWY_SCALAR;
    if constexpr (sizeof(T) == 1 && kOneOfMany) {
      return hn::Set(d, static_cast<T>(hn::GetLane(a) * hn::GetLane(b)));
    } else if constexpr (sizeof(T) == 1 && HWY_TARGET != HWY_SCALAR) {
      return multiply_bytes(d, a, b);
    } else if constexpr (hwy::IsSame<T, uint64_t>() && HWY_TARGET != HWY_SCALAR) {
      return multiply_64(d, a, b);
    } else {
      return hn::Mul(a, b);
    }
  }
};

// For floats the instructions differ in what they do with NaN and zeros; a comparison does not.
struct Min {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D, hn::Vec<D> a, hn::Vec<D> b) {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b);
    } else {
      return hn::Min(a, b);
    }
  }
};

struct Max {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D, hn::Vec<D> a, hn::Vec<D> b) {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b);
    } else {
      return hn::Max(a, b);
    }
  }
};

struct BitAnd {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D, hn::Vec<D> a, hn::Vec<D> b) {
    return hn::And(a, b);
  }
};

struct BitOr {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D, hn::Vec<D> a, hn::Vec<D> b) {
    return hn::Or(a, b);
  }
};

struct BitXor {
  template <class D>
  static HWY_INLINE hn::Vec<D> apply(D, hn::Vec<D> a, hn::Vec<D> b) {
    return hn::Xor(a, b);
  }
};

}  // namespace tutti::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
