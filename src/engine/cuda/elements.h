// One element: how it is read, combined, scaled, divided and written. Each function does what the
// vectors of engine/cpu do to one lane, bit for bit but for the payload of a NaN, on CPUs and GPUs
// alike; on a GPU the conversions are its instructions where these round the same way.
//
// For nvcc: --expt-relaxed-constexpr, and no --use_fast_math (-ftz, -prec-div), which rounds
// otherwise. Pointers are to global memory there.
#pragma once

#if defined(__CUDA_ARCH__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "engine/both.h"
#include "tutti/data_type.h"

namespace tutti::engine {

// What is calculated with: float for the narrow floats.
template <class T>
using NumberOf = std::conditional_t<std::integral<T> || std::same_as<T, double>, T, float>;

template <size_t NumBytes>
using BitsOf =
    std::conditional_t<NumBytes == 1, uint8_t,
                       std::conditional_t<NumBytes == 2, uint16_t,
                                          std::conditional_t<NumBytes == 4, uint32_t, uint64_t>>>;

// At any address. On a GPU volatile: others write what is read here, and a cache may be stale.
template <class T>
TUTTI_BOTH inline T load_element(const std::byte* from) {
#if defined(__CUDA_ARCH__)
  using Bits = BitsOf<sizeof(T)>;
  if (reinterpret_cast<uintptr_t>(from) % sizeof(T) == 0) {
    return std::bit_cast<T>(*reinterpret_cast<const volatile Bits*>(from));
  }
  Bits bits = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    const auto byte = *reinterpret_cast<const volatile uint8_t*>(from + i);
    bits = static_cast<Bits>(bits | static_cast<Bits>(byte) << 8 * i);
  }
  return std::bit_cast<T>(bits);
#else
  T element;
  std::memcpy(static_cast<void*>(&element), from, sizeof(T));
  return element;
#endif
}

template <class T>
TUTTI_BOTH inline void store_element(std::byte* to, T element) {
#if defined(__CUDA_ARCH__)
  using Bits = BitsOf<sizeof(T)>;
  const auto bits = std::bit_cast<Bits>(element);
  if (reinterpret_cast<uintptr_t>(to) % sizeof(T) == 0) {
    *reinterpret_cast<Bits*>(to) = bits;
    return;
  }
  for (size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<std::byte>(bits >> 8 * i);
#else
  std::memcpy(to, static_cast<const void*>(&element), sizeof(T));
#endif
}

template <class T>
TUTTI_BOTH inline NumberOf<T> to_number(T element) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::same_as<T, Float16>) return __half2float(std::bit_cast<__half>(element));
  // The upper half of a float16, which has the same exponents.
  if constexpr (std::same_as<T, Float8E5M2>) {
    return __half2float(std::bit_cast<__half>(static_cast<uint16_t>(element.bits << 8)));
  }
  // Its bits at their place in a float are a number 2^120 too small: the bias is 7, not 127.
  if constexpr (std::same_as<T, Float8E4M3>) {
    const uint32_t magnitude = element.bits & 0x7fU;
    const uint32_t sign = element.bits >> 7;
    if (magnitude == 0x7fU) return std::bit_cast<float>(0x7fc00000U);
    return std::bit_cast<float>(sign << 31 | magnitude << 20) * 0x1p120F;
  }
#endif
  return static_cast<NumberOf<T>>(element);
}

template <class T>
TUTTI_BOTH inline T to_element(NumberOf<T> number) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::same_as<T, Float16>) return std::bit_cast<T>(__float2half_rn(number));
  if constexpr (std::same_as<T, BFloat16>) return std::bit_cast<T>(__float2bfloat16_rn(number));
#endif
  // The instructions for 8 bits saturate, which the conversion of float_types.h does not.
  return static_cast<T>(number);
}

// Integers wrap around: calculated without sign, and not in int, whose overflow is undefined.
template <std::integral N>
TUTTI_BOTH inline N combined(Op op, N a, N b) {
  using Bits = std::conditional_t<sizeof(N) == 8, uint64_t, uint32_t>;
  const auto x = static_cast<Bits>(a);
  const auto y = static_cast<Bits>(b);
  switch (op) {
    case Op::kSum:
    case Op::kAvg:
    case Op::kPremulSum: return static_cast<N>(x + y);
    case Op::kProd: return static_cast<N>(x * y);
    case Op::kMin: return a < b ? a : b;
    case Op::kMax: return a > b ? a : b;
    case Op::kBitAnd: return static_cast<N>(x & y);
    case Op::kBitOr: return static_cast<N>(x | y);
    case Op::kBitXor: return static_cast<N>(x ^ y);
  }
  return a;
}

// NaN if there is one; the second of two that are equal.
template <std::floating_point N>
TUTTI_BOTH inline N combined(Op op, N a, N b) {
  switch (op) {
    case Op::kSum:
    case Op::kAvg:
    case Op::kPremulSum: return a + b;
    case Op::kProd: return a * b;
    case Op::kMin: return a < b || a != a ? a : b;
    case Op::kMax: return a > b || a != a ? a : b;
    case Op::kBitAnd:
    case Op::kBitOr:
    case Op::kBitXor: break;
  }
  return a;
}

// A product that no compiler fuses with the sum it goes into: it is rounded by itself.
template <std::floating_point N>
TUTTI_BOTH inline N rounded_product(N a, N b) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::same_as<N, float>) {
    return __fmul_rn(a, b);
  } else {
    return __dmul_rn(a, b);
  }
#else
  const volatile N product = a * b;
  return product;
#endif
}

// A factor as the bits of a 64-bit integer, of which every integer type takes its lowest.
TUTTI_BOTH inline uint64_t integer_factor_of(double factor) {
  constexpr double kTwo63 = 9223372036854775808.0;
  if (factor != factor) return 0;
  if (factor >= 2 * kTwo63) return ~uint64_t{0};
  if (factor >= kTwo63) return static_cast<uint64_t>(factor - kTwo63) | uint64_t{1} << 63;
  if (factor <= -kTwo63) return uint64_t{1} << 63;
  return static_cast<uint64_t>(static_cast<int64_t>(factor));
}

// element * factor, rounded to the type.
template <class T>
TUTTI_BOTH inline T scaled(T element, double factor) {
  if constexpr (std::integral<T>) {
    return static_cast<T>(static_cast<uint64_t>(element) * integer_factor_of(factor));
  } else {
    return to_element<T>(rounded_product(to_number(element), static_cast<NumberOf<T>>(factor)));
  }
}

// element / divisor, rounded to the type; integers truncate towards zero. A divisor too long for
// 32 bits is beyond all integers that are not longer.
template <class T>
TUTTI_BOTH inline T divided(T element, uint64_t divisor) {
  if constexpr (std::integral<T>) {
    using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    if (divisor > std::numeric_limits<Bits>::max()) return 0;
    const auto bits = static_cast<Bits>(element);
    const bool is_negative = std::signed_integral<T> && bits >> (8 * sizeof(Bits) - 1) != 0;
    const Bits magnitude = (is_negative ? 0 - bits : bits) / static_cast<Bits>(divisor);
    return static_cast<T>(is_negative ? 0 - magnitude : magnitude);
  } else {
    const auto by = static_cast<NumberOf<T>>(static_cast<double>(divisor));
    return to_element<T>(to_number(element) / by);
  }
}

// function(T{}) with the C++ type of the elements.
template <class Function>
[[gnu::always_inline]] TUTTI_BOTH inline void with_type(DataType type, const Function& function) {
  switch (type) {
    case DataType::kInt8: return function(int8_t{});
    case DataType::kUint8: return function(uint8_t{});
    case DataType::kInt16: return function(int16_t{});
    case DataType::kUint16: return function(uint16_t{});
    case DataType::kInt32: return function(int32_t{});
    case DataType::kUint32: return function(uint32_t{});
    case DataType::kInt64: return function(int64_t{});
    case DataType::kUint64: return function(uint64_t{});
    case DataType::kFloat16: return function(Float16{});
    case DataType::kBFloat16: return function(BFloat16{});
    case DataType::kFloat32: return function(float{});
    case DataType::kFloat64: return function(double{});
    case DataType::kFloat8E4M3: return function(Float8E4M3{});
    case DataType::kFloat8E5M2: return function(Float8E5M2{});
  }
}

}  // namespace tutti::engine
