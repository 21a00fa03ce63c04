// Floating-point types of 16 and 8 bits, as they lie in memory: bits, and nothing else.
// They are for holding data: to calculate, convert to float and back. A conversion from float
// rounds to nearest, ties to even, once; one to float is exact. A NaN stays a NaN; its sign and
// payload are nobody's promise.
#pragma once

#include <bit>
#include <cstdint>

namespace tutti {
namespace detail {

// A format of sign, exponent and mantissa: one of the four below.
struct FloatFormat {
  int num_bits;
  int mantissa_bits;
  int bias;
  bool has_infinity;  // without it the highest exponent holds numbers, and NaN is all ones alone

  // The magnitude that no finite number reaches: infinity, or the only NaN.
  [[nodiscard]] constexpr uint32_t beyond() const noexcept {
    const uint32_t ones = (uint32_t{1} << (num_bits - 1)) - 1;
    return has_infinity ? ones - ((uint32_t{1} << mantissa_bits) - 1) : ones;
  }
};

inline constexpr FloatFormat kFloat16Format{16, 10, 15, true};
inline constexpr FloatFormat kFloat8E4M3Format{8, 3, 7, false};
inline constexpr FloatFormat kFloat8E5M2Format{8, 2, 15, true};

// Below the least normal number of the format, the sum with a float whose unit in the last place
// is the format's least number has rounded already; above it, integer addition rounds the bits.
constexpr uint32_t encode(FloatFormat format, float value) noexcept {
  const int shift = 23 - format.mantissa_bits;
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffffU;
  const uint32_t sign = bits >> 31 << (format.num_bits - 1);
  if (magnitude > 0x7f800000U) {
    const uint32_t quiet = uint32_t{1} << (format.mantissa_bits - 1);
    return sign | format.beyond() | quiet;
  }
  const auto least_normal = static_cast<uint32_t>(128 - format.bias) << 23;
  if (magnitude < least_normal) {
    const auto anchor = static_cast<uint32_t>(127 + shift + 1 - format.bias) << 23;
    const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(anchor);
    return sign | (std::bit_cast<uint32_t>(sum) - anchor);
  }
  const uint32_t half = (uint32_t{1} << (shift - 1)) - 1 + ((magnitude >> shift) & 1);
  const auto rebias = static_cast<uint32_t>(127 - format.bias) << format.mantissa_bits;
  const uint32_t rounded = ((magnitude + half) >> shift) - rebias;
  return sign | (rounded < format.beyond() ? rounded : format.beyond());
}

constexpr float decode(FloatFormat format, uint32_t bits) noexcept {
  const int shift = 23 - format.mantissa_bits;
  const uint32_t sign = bits >> (format.num_bits - 1) << 31;
  const uint32_t magnitude = bits & ((uint32_t{1} << (format.num_bits - 1)) - 1);
  const auto rebias = static_cast<uint32_t>(127 - format.bias) << 23;
  if (magnitude >= format.beyond()) {
    return std::bit_cast<float>(
        sign | (format.has_infinity ? 0x7f800000U | magnitude << shift : 0x7fc00000U));
  }
  if (magnitude >> format.mantissa_bits != 0) {
    return std::bit_cast<float>(sign | ((magnitude << shift) + rebias));
  }
  // No leading one: give it one, and take that away again.
  const uint32_t anchor = rebias + (1U << 23);
  const float number =
      std::bit_cast<float>(anchor | magnitude << shift) - std::bit_cast<float>(anchor);
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(number));
}

}  // namespace detail

// IEEE 754 binary16. Beyond 65504 it rounds to infinity.
struct Float16 {
  uint16_t bits = 0;

  Float16() = default;
  constexpr explicit Float16(float value) noexcept
      : bits(static_cast<uint16_t>(detail::encode(detail::kFloat16Format, value))) {}
  constexpr explicit operator float() const noexcept {
    return detail::decode(detail::kFloat16Format, bits);
  }
};

// The upper half of a float.
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  constexpr explicit BFloat16(float value) noexcept {
    const uint32_t wide = std::bit_cast<uint32_t>(value);
    const uint32_t rounded = wide + 0x7fffU + (wide >> 16 & 1);
    bits = static_cast<uint16_t>((value != value ? wide | 0x400000U : rounded) >> 16);
  }
  constexpr explicit operator float() const noexcept {
    return std::bit_cast<float>(uint32_t{bits} << 16);
  }
};

// OCP OFP8 E4M3 (the "fn" variant): no infinity; NaN is 0x7f or 0xff. The conversion does not
// saturate: what rounds beyond 448, and infinity, becomes NaN.
struct Float8E4M3 {
  uint8_t bits = 0;

  Float8E4M3() = default;
  constexpr explicit Float8E4M3(float value) noexcept
      : bits(static_cast<uint8_t>(detail::encode(detail::kFloat8E4M3Format, value))) {}
  constexpr explicit operator float() const noexcept {
    return detail::decode(detail::kFloat8E4M3Format, bits);
  }
};

// OCP OFP8 E5M2. The conversion does not saturate: what rounds beyond 57344 becomes infinity.
struct Float8E5M2 {
  uint8_t bits = 0;

  Float8E5M2() = default;
  constexpr explicit Float8E5M2(float value) noexcept
      : bits(static_cast<uint8_t>(detail::encode(detail::kFloat8E5M2Format, value))) {}
  constexpr explicit operator float() const noexcept {
    return detail::decode(detail::kFloat8E5M2Format, bits);
  }
};

static_assert(sizeof(Float16) == 2 && sizeof(BFloat16) == 2);
static_assert(sizeof(Float8E4M3) == 1 && sizeof(Float8E5M2) == 1);

}  // namespace tutti
