#include "tutti/float_types.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>

namespace tutti {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A format as its standard describes it, in double, which holds all that happens here exactly.
struct Standard {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;

  [[nodiscard]] double value(uint32_t bits) const {
    const uint32_t mantissa = bits & ((1U << mantissa_bits) - 1);
    const uint32_t top = (1U << exponent_bits) - 1;
    const uint32_t exponent = bits >> mantissa_bits & top;
    const double sign = bits >> (mantissa_bits + exponent_bits) != 0 ? -1 : 1;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    if (has_infinity && exponent == top) return mantissa == 0 ? sign * HUGE_VAL : std::nan("");
    if (!has_infinity && exponent == top && mantissa == (1U << mantissa_bits) - 1) {
      return std::nan("");
    }
    const int scale = std::max<int>(static_cast<int>(exponent), 1) - bias - mantissa_bits;
    const uint32_t leading = exponent == 0 ? 0 : 1U << mantissa_bits;
    return sign * std::ldexp(leading + mantissa, scale);
  }
};

template <class T>
constexpr Standard kStandard{5, 10, true};
template <>
constexpr Standard kStandard<BFloat16>{8, 7, true};
template <>
constexpr Standard kStandard<Float8E4M3>{4, 3, false};
template <>
constexpr Standard kStandard<Float8E5M2>{5, 2, true};

template <class T>
T of_bits(uint32_t bits) {
  T made;
  made.bits = static_cast<decltype(made.bits)>(bits);
  return made;
}

// All finite magnitudes, and the one that would follow if the exponent went on: what rounds there
// is infinity, or NaN.
template <class T>
std::map<double, uint32_t> magnitudes() {
  std::map<double, uint32_t> found;
  uint32_t bits = 0;
  for (; std::isfinite(kStandard<T>.value(bits)); ++bits) found[kStandard<T>.value(bits)] = bits;
  const double last = std::prev(found.end())->first;
  const double before = std::prev(found.end(), 2)->first;
  found[last + (last - before)] = bits;
  return found;
}

// Nearest by distance; of two as near, the one with an even last bit.
template <class T>
uint32_t nearest(const std::map<double, uint32_t>& magnitudes, float value) {
  const uint32_t sign = std::signbit(value) ? 1U << (8 * sizeof(T) - 1) : 0;
  const double magnitude = std::fabs(static_cast<double>(value));
  const auto above = magnitudes.lower_bound(magnitude);
  if (above == magnitudes.end()) return sign | std::prev(above)->second;
  if (above->first == magnitude) return sign | above->second;
  const auto below = std::prev(above);
  const double up = above->first - magnitude;
  const double down = magnitude - below->first;
  const bool goes_up = up < down || (up == down && above->second % 2 == 0);
  return sign | (goes_up ? above->second : below->second);
}

template <class T>
class FloatTypes : public testing::Test {};
using Types = testing::Types<Float16, BFloat16, Float8E4M3, Float8E5M2>;
TYPED_TEST_SUITE(FloatTypes, Types);

TYPED_TEST(FloatTypes, EveryPatternIsItsNumberAndReadsBack) {
  for (uint32_t bits = 0; bits < 1U << (8 * sizeof(TypeParam)); ++bits) {
    const auto number = static_cast<float>(of_bits<TypeParam>(bits));
    const double wanted = kStandard<TypeParam>.value(bits);
    if (std::isnan(wanted)) {
      ASSERT_TRUE(std::isnan(number)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(TypeParam(number)))) << bits;
      continue;
    }
    ASSERT_EQ(number, wanted) << bits;
    ASSERT_EQ(std::signbit(number), std::signbit(wanted)) << bits;
    ASSERT_EQ(TypeParam(number).bits, bits);
  }
}

// On every number, half way to the next, and on the floats to both sides of each.
TYPED_TEST(FloatTypes, RoundsToNearestAndTiesToEven) {
  const std::map<double, uint32_t> all = magnitudes<TypeParam>();
  for (auto at = all.begin(); std::next(at) != all.end(); ++at) {
    const double middle = at->first + (std::next(at)->first - at->first) / 2;
    for (const double magnitude : {at->first, middle}) {
      const auto number = static_cast<float>(magnitude);
      if (!std::isfinite(number)) continue;
      for (const float near :
           {number, std::nextafter(number, 0.0F), std::nextafter(number, kInfinity)}) {
        ASSERT_EQ(TypeParam(near).bits, nearest<TypeParam>(all, near)) << near;
        ASSERT_EQ(TypeParam(-near).bits, nearest<TypeParam>(all, -near)) << -near;
      }
    }
  }
}

TEST(FloatTypesOverflow, GoesToInfinityOrToNaNWhereThereIsNone) {
  EXPECT_EQ(Float16(65519.0F).bits, 0x7bff);
  EXPECT_EQ(Float16(65520.0F).bits, 0x7c00);
  EXPECT_EQ(Float16(-kInfinity).bits, 0xfc00);
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(Float8E4M3(464.0F).bits, 0x7e);
  EXPECT_EQ(Float8E4M3(464.1F).bits, 0x7f);
  EXPECT_EQ(Float8E4M3(-kInfinity).bits, 0xff);
  EXPECT_EQ(Float8E5M2(61439.0F).bits, 0x7b);
  EXPECT_EQ(Float8E5M2(61440.0F).bits, 0x7c);
  EXPECT_EQ(Float8E5M2(1e30F).bits, 0x7c);
}

}  // namespace
}  // namespace tutti
