#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "engine/cpu/reduce.h"
#include "tests/unit/kernels/reference.h"

namespace tutti::engine {
namespace {

constexpr size_t kScaledCounts[] = {0, 1, 2, 3, 7, 8, 17, 33, 65, 1023};

template <class T>
class Scale : public testing::Test {};

using ScaledElements =
    testing::Types<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t,
                   Float16, BFloat16, float, double, Float8E4M3, Float8E5M2>;
TYPED_TEST_SUITE(Scale, ScaledElements);

template <class T>
T times(T element, double factor) {
  using Number = WideOf<T>;
  if constexpr (std::integral<T>) {
    const auto bits = static_cast<uint64_t>(static_cast<int64_t>(factor));
    return static_cast<T>(static_cast<uint64_t>(element) * bits);
  } else {
    return static_cast<T>(static_cast<Number>(element) * static_cast<Number>(factor));
  }
}

// Truncating division of a wider integer, which holds all elements and all divisors.
__extension__ using Wider = __int128;
template <class T>
T over(T element, uint64_t divisor) {
  using Number = WideOf<T>;
  if constexpr (std::integral<T>) {
    return static_cast<T>(static_cast<Wider>(element) / static_cast<Wider>(divisor));
  } else {
    return static_cast<T>(static_cast<Number>(element) / static_cast<Number>(divisor));
  }
}

TYPED_TEST(Scale, MultipliesAnyCountAtAnyAddressAndInPlace) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    for (const double factor : {0.0, 1.0, -3.0, 2.75, 1e-3, 1e9}) {
      for (const size_t count : kScaledCounts) {
        const std::vector<TypeParam> made = elements<TypeParam>(count, 1);
        Shifted<TypeParam> src(made, 3);
        Shifted<TypeParam> dst(made, 1);
        scale(data_type_of<TypeParam>, dst.data(), src.data(), count, factor);
        scale(data_type_of<TypeParam>, src.data(), src.data(), count, factor);
        for (size_t i = 0; i < count; ++i) {
          ASSERT_TRUE(same(dst[i], times(made[i], factor))) << factor << " at " << i;
          ASSERT_TRUE(same(src[i], times(made[i], factor))) << factor << " in place at " << i;
        }
        ASSERT_TRUE(dst.nothing_around_is_written());
      }
    }
  });
}

TYPED_TEST(Scale, DividesRoundedOnceAndIntegersTowardsZero) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    for (const uint64_t divisor : {1ULL, 2ULL, 3ULL, 7ULL, 300ULL, 1ULL << 20, 1ULL << 40}) {
      for (const size_t count : kScaledCounts) {
        const std::vector<TypeParam> made = elements<TypeParam>(count, 1);
        Shifted<TypeParam> dst(made, 1);
        divide(data_type_of<TypeParam>, dst.data(), count, divisor);
        for (size_t i = 0; i < count; ++i) {
          ASSERT_TRUE(same(dst[i], over(made[i], divisor))) << divisor << " at " << i;
        }
        ASSERT_TRUE(dst.nothing_around_is_written());
      }
    }
  });
}

template <class T>
void expect_divided(T element, uint64_t divisor) {
  T dst = element;
  divide(data_type_of<T>, &dst, 1, divisor);
  EXPECT_EQ(dst, over(element, divisor)) << +element << " / " << divisor;
}

TEST(ScaleOf, DividesTheLargestAndTheLeastIntegersExactly) {
  for (const uint64_t divisor : {uint64_t{1}, uint64_t{3}, uint64_t{0xffffffff}, uint64_t{1} << 32,
                                 uint64_t{1} << 63, std::numeric_limits<uint64_t>::max()}) {
    expect_divided(std::numeric_limits<int64_t>::min(), divisor);
    expect_divided(std::numeric_limits<int64_t>::max(), divisor);
    expect_divided(std::numeric_limits<uint64_t>::max(), divisor);
    expect_divided(std::numeric_limits<int32_t>::min(), divisor);
    expect_divided(std::numeric_limits<uint32_t>::max(), divisor);
    expect_divided(std::numeric_limits<int8_t>::min(), divisor);
  }
}

uint64_t scaled_one(double factor) {
  uint64_t one = 1;
  scale(DataType::kUint64, &one, &one, 1, factor);
  return one;
}

TEST(ScaleOf, HoldsAFactorWithinSixtyFourBits) {
  EXPECT_EQ(scaled_one(-1.9), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(scaled_one(std::ldexp(1.0, 63)), uint64_t{1} << 63);
  EXPECT_EQ(scaled_one(1e30), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(scaled_one(-1e30), uint64_t{1} << 63);
  EXPECT_EQ(scaled_one(std::nan("")), 0u);
}

TEST(ScaleOf, KeepsNaNWhateverItsPayload) {
  const BFloat16 one(1.0F);
  BFloat16 dst;
  scale(DataType::kBFloat16, &dst, &one, 1, std::bit_cast<double>(UINT64_MAX));
  EXPECT_TRUE(std::isnan(static_cast<float>(dst)));
}

TEST(ScaleOf, RefusesToDivideByZero) {
  float number = 1;
  EXPECT_DEATH(divide(DataType::kFloat32, &number, 1, 0), "at least one rank");
}

TEST(Copy, MovesAnyNumberOfBytesAtAnyAddress) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    for (const size_t count : {0, 1, 63, 64, 65, 1000, 4096, 5003}) {
      for (const size_t shift : {0, 1, 32, 63}) {
        const std::vector<uint8_t> made = elements<uint8_t>(count, 1);
        Shifted<uint8_t> src(made, 7);
        Shifted<uint8_t> cached(std::vector<uint8_t>(count), shift);
        Shifted<uint8_t> streamed(std::vector<uint8_t>(count), shift);
        copy(cached.data(), src.data(), count);
        copy_streaming(streamed.data(), src.data(), count);
        for (size_t i = 0; i < count; ++i) {
          ASSERT_EQ(cached[i], made[i]);
          ASSERT_EQ(streamed[i], made[i]);
        }
        ASSERT_TRUE(cached.nothing_around_is_written() && streamed.nothing_around_is_written());
      }
    }
  });
}

TEST(Copy, TakesNullForNoBytes) {
  copy(nullptr, nullptr, 0);
  copy_streaming(nullptr, nullptr, 0);
}

}  // namespace
}  // namespace tutti::engine
