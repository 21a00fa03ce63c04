// How elements of a type lie in memory and in vectors: load() makes lanes that can be calculated
// with, store() rounds them back. For integers, float and double the lanes are the elements; the
// narrow floats are floats in vectors. Included once for each instruction set.
#include "engine/cpu/targets.h"
//
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

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

template <class T>
struct Native {
  using Lane = T;
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
struct Narrow {
  using Lane = float;
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
struct Half16 {
  using Lane = float;
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

// Not Highway's own conversion, which truncates, nor the instruction of AVX-512, which flushes
// subnormal numbers to zero.
struct Brain16 {
  using Lane = float;
  static constexpr size_t kElemBytes = 2;

  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const void* from) {
    const hn::Rebind<uint32_t, D> du;
    const hn::Rebind<uint16_t, D> bits_d;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, load_lanes(bits_d, from))));
  }
  template <class D>
  static HWY_INLINE void store(D, hn::Vec<D> v, void* to) {
    const hn::Rebind<int32_t, D> di;
    const hn::Rebind<uint32_t, D> du;
    const hn::Rebind<uint16_t, D> bits_d;
    const auto wide = hn::BitCast(du, v);
    const auto odd = hn::And(hn::ShiftRight<16>(wide), hn::Set(du, 1));
    const auto rounded = hn::Add(wide, hn::Add(odd, hn::Set(du, 0x7fff)));
    const auto nan = hn::Or(wide, hn::Set(du, 0x400000));
    const auto is_nan = hn::RebindMask(du, hn::IsNaN(v));
    const auto bits = hn::ShiftRight<16>(hn::IfThenElse(is_nan, nan, rounded));
    store_lanes(bits_d, hn::DemoteTo(bits_d, hn::BitCast(di, bits)), to);
  }
};

}  // namespace tutti::engine::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
