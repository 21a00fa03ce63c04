// How elements of a type lie in memory and in vectors. Of a vector's worth of elements, load() and
// fill() make Values, apply() calculates with them, store() rounds them back. For integers, float
// and double the values are the elements; the narrow floats are floats in vectors. Included once
// for each instruction set.
#include "engine/cpu/targets.h"
//
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tutti/float_types.h"

#if defined(TUTTI_VECTOR_FORMATS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_VECTOR_FORMATS_INL_H
#undef TUTTI_VECTOR_FORMATS_INL_H
#else
#define TUTTI_VECTOR_FORMATS_INL_H
#endif

// Where the conversions between float16 and float are instructions that round as we want. Highway
// imitates them elsewhere, but knows neither rounding nor infinity there.
#undef TUTTI_HAVE_FLOAT16
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || (HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64)
#define TUTTI_HAVE_FLOAT16 1
#else
#define TUTTI_HAVE_FLOAT16 0
#endif

HWY_BEFORE_NAMESPACE();
namespace tutti::engine::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> load_lanes(D d, const void* from) {
  return hn::LoadU(d, static_cast<const hn::TFromD<D>*>(from));
}
template <class D>
HWY_INLINE void store_lanes(D d, hn::Vec<D> v, void* to) {
  hn::StoreU(v, d, static_cast<hn::TFromD<D>*>(to));
}

// For formats whose values are one vector, with a lane for each element.
template <class T>
struct OneVector {
  using Lane = T;
  using Number = T;
  template <class D>
  using Values = hn::Vec<D>;

  template <class D>
  static HWY_INLINE hn::Vec<D> fill(D d, T number) {
    return hn::Set(d, number);
  }
  template <class Operator, class D>
  static HWY_INLINE hn::Vec<D> apply(D d, hn::Vec<D> a, hn::Vec<D> b) {
    return Operator::apply(d, a, b);
  }
};

template <class T>
struct Native : OneVector<T> {
  static constexpr size_t kElemBytes = sizeof(T);

  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const void* from) {
    return load_lanes(d, from);
  }
  template <class D>
  static HWY_INLINE void store(D d, hn::Vec<D> v, void* to) {
    store_lanes(d, v, to);
  }
};

// The vector form of detail::encode() and detail::decode() in float_types.h, with choices for
// branches. Magnitudes are below 2^31, so that signed lanes, which compare faster, will do.
template <class Bits, class Format>
struct Narrow : OneVector<float> {
  static constexpr size_t kElemBytes = sizeof(Bits);
  static constexpr detail::FloatFormat kFormat = Format::kFormat;
  static constexpr int kShift = 23 - kFormat.mantissa_bits;
  static constexpr int32_t kRebias = (127 - kFormat.bias) << 23;
  static constexpr auto kBeyond = static_cast<int32_t>(kFormat.beyond());

  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const void* from) {
    const hn::Rebind<int32_t, D> di;
    const hn::Rebind<Bits, D> bits_d;
    const auto bits = hn::PromoteTo(di, load_lanes(bits_d, from));
    const auto magnitude = hn::And(bits, hn::Set(di, (1 << (kFormat.num_bits - 1)) - 1));
    const auto sign = hn::ShiftLeft<32 - kFormat.num_bits>(hn::Xor(bits, magnitude));
    const auto shifted = hn::ShiftLeft<kShift>(magnitude);
    const auto normal = hn::Add(shifted, hn::Set(di, kRebias));
    const auto anchor = hn::Set(di, kRebias + (1 << 23));
    const auto small =
        hn::BitCast(di, hn::Sub(hn::BitCast(d, hn::Add(shifted, anchor)), hn::BitCast(d, anchor)));
    const auto is_small = hn::Lt(magnitude, hn::Set(di, 1 << kFormat.mantissa_bits));
    const auto finite = hn::IfThenElse(is_small, small, normal);
    const auto is_finite = hn::Lt(magnitude, hn::Set(di, kBeyond));
    return hn::BitCast(d, hn::Or(sign, hn::IfThenElse(is_finite, finite, beyond(di, shifted))));
  }

  template <class D>
  static HWY_INLINE void store(D d, hn::Vec<D> v, void* to) {
    const hn::Rebind<int32_t, D> di;
    const hn::Rebind<uint32_t, D> du;
    const hn::Rebind<Bits, D> bits_d;
    const auto magnitude = hn::And(hn::BitCast(di, v), hn::Set(di, 0x7fffffff));
    const auto sign = hn::ShiftLeft<kFormat.num_bits - 1>(hn::ShiftRight<31>(hn::BitCast(du, v)));
    const auto odd = hn::And(hn::ShiftRight<kShift>(magnitude), hn::Set(di, 1));
    const auto half = hn::Add(odd, hn::Set(di, (1 << (kShift - 1)) - 1 - kRebias));
    const auto normal = hn::ShiftRight<kShift>(hn::Add(magnitude, half));
    const auto anchor = hn::Set(di, (127 + kShift + 1 - kFormat.bias) << 23);
    const auto sum = hn::Add(hn::BitCast(d, magnitude), hn::BitCast(d, anchor));
    const auto small = hn::Sub(hn::BitCast(di, sum), anchor);
    const auto is_small = hn::Lt(magnitude, hn::Set(di, (128 - kFormat.bias) << 23));
    auto rounded = hn::Min(hn::IfThenElse(is_small, small, normal), hn::Set(di, kBeyond));
    if constexpr (kFormat.has_infinity) {
      const auto nan = hn::Set(di, kBeyond | (1 << (kFormat.mantissa_bits - 1)));
      rounded = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x7f800000)), nan, rounded);
    }
    store_lanes(bits_d, hn::DemoteTo(bits_d, hn::Or(rounded, hn::BitCast(di, sign))), to);
  }

 private:
  // Infinity and NaN have the highest exponent; where there is no infinity, all is NaN.
  template <class DI, class VI>
  static HWY_INLINE VI beyond(DI di, VI shifted) {
    if constexpr (!kFormat.has_infinity) return hn::Set(di, 0x7fc00000);
    return hn::Or(shifted, hn::Set(di, 0x7f800000));
  }
};

struct E4M3Format {
  static constexpr detail::FloatFormat kFormat = detail::kFloat8E4M3Format;
};
struct E5M2Format {
  static constexpr detail::FloatFormat kFormat = detail::kFloat8E5M2Format;
};
using E4M3 = Narrow<uint8_t, E4M3Format>;
using E5M2 = Narrow<uint8_t, E5M2Format>;

#if TUTTI_HAVE_FLOAT16
struct Half16 : OneVector<float> {
  static constexpr size_t kElemBytes = 2;

  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const void* from) {
    const hn::Rebind<uint16_t, D> bits_d;
    const hn::Rebind<hwy::float16_t, D> half_d;
    return hn::PromoteTo(d, hn::BitCast(half_d, load_lanes(bits_d, from)));
  }
  template <class D>
  static HWY_INLINE void store(D, hn::Vec<D> v, void* to) {
    const hn::Rebind<uint16_t, D> bits_d;
    const hn::Rebind<hwy::float16_t, D> half_d;
    store_lanes(bits_d, hn::BitCast(bits_d, hn::DemoteTo(half_d, v)), to);
  }
};
#else
struct Half16Format {
  static constexpr detail::FloatFormat kFormat = detail::kFloat16Format;
};
using Half16 = Narrow<uint16_t, Half16Format>;
#endif

// Two elements are the halves of a 32-bit word, and either is a float with the other one masked
// away: no element ever changes its place, and there is nothing to widen and pack.
//
// Not Highway's own conversion, which truncates, nor the instruction of AVX-512, which flushes
// subnormal numbers to zero. NaN needs no care: one that was loaded from here, or that arithmetic
// made, has zeros in its lower half, and rounding adds nothing to the upper.
struct Brain16 {
  using Lane = uint16_t;
  using Number = float;
  static constexpr size_t kElemBytes = 2;

  template <class D>
  static constexpr bool kIsPairs = hn::MaxLanes(D()) > 1;
  template <class D>
  using Words =
      std::conditional_t<kIsPairs<D>, hn::Repartition<uint32_t, D>, hn::Rebind<uint32_t, D>>;
  template <class D>
  using Floats = hn::Rebind<float, Words<D>>;
  template <class D>
  struct Values {
    hn::Vec<Floats<D>> even, odd;  // the same where there is one element alone
  };

  template <class D>
  static HWY_INLINE Values<D> load(D d, const void* from) {
    const Words<D> words_d;
    const Floats<D> floats_d;
    const auto bits = load_lanes(d, from);
    if constexpr (kIsPairs<D>) {
      const auto words = hn::BitCast(words_d, bits);
      const auto upper = hn::And(words, hn::Set(words_d, 0xffff0000U));
      return {hn::BitCast(floats_d, hn::ShiftLeft<16>(words)), hn::BitCast(floats_d, upper)};
    } else {
      const auto only = hn::BitCast(floats_d, hn::ShiftLeft<16>(hn::PromoteTo(words_d, bits)));
      return {only, only};
    }
  }
  template <class D>
  static HWY_INLINE void store(D d, Values<D> v, void* to) {
    const Words<D> words_d;
    const auto even = hn::ShiftRight<16>(rounded(words_d, v.even));
    if constexpr (kIsPairs<D>) {
      const auto odd = hn::And(rounded(words_d, v.odd), hn::Set(words_d, 0xffff0000U));
      store_lanes(d, hn::BitCast(d, hn::Or(even, odd)), to);
    } else {
      const hn::RebindToSigned<Words<D>> signed_d;
      store_lanes(d, hn::DemoteTo(d, hn::BitCast(signed_d, even)), to);
    }
  }
  template <class D>
  static HWY_INLINE Values<D> fill(D, float number) {
    const auto filled = hn::Set(Floats<D>(), number);
    return {filled, filled};
  }
  template <class Operator, class D>
  static HWY_INLINE Values<D> apply(D, Values<D> a, Values<D> b) {
    const Floats<D> d;
    return {Operator::apply(d, a.even, b.even), Operator::apply(d, a.odd, b.odd)};
  }

 private:
  template <class W, class V>
  static HWY_INLINE hn::Vec<W> rounded(W words_d, V v) {
    const auto wide = hn::BitCast(words_d, v);
    const auto odd = hn::And(hn::ShiftRight<16>(wide), hn::Set(words_d, 1));
    return hn::Add(wide, hn::Add(odd, hn::Set(words_d, 0x7fff)));
  }
};

}  // namespace tutti::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
