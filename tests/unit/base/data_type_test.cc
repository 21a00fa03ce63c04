#include "tutti/data_type.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace tutti {
namespace {

TEST(DataType, NamesReadBack) {
  for (int i = 0; i < kNumDataTypes; ++i) {
    const auto type = static_cast<DataType>(i);
    EXPECT_EQ(parse_data_type(to_string(type)), type);
  }
  for (int i = 0; i < kNumOps; ++i) {
    const auto op = static_cast<Op>(i);
    EXPECT_EQ(parse_op(to_string(op)), op);
  }
  EXPECT_EQ(to_string(DataType::kFloat8E5M2), "float8_e5m2");
  EXPECT_EQ(to_string(Op::kPremulSum), "premul_sum");
}

TEST(DataType, ReadsTheShortSpellingsOfNcclTests) {
  EXPECT_EQ(parse_data_type("half"), DataType::kFloat16);
  EXPECT_EQ(parse_data_type("float"), DataType::kFloat32);
  EXPECT_EQ(parse_data_type("double"), DataType::kFloat64);
  EXPECT_EQ(parse_data_type("bfloat16"), DataType::kBFloat16);
}

TEST(DataType, RefusesOtherNames) {
  EXPECT_EQ(parse_data_type(""), std::nullopt);
  EXPECT_EQ(parse_data_type("Float"), std::nullopt);
  EXPECT_EQ(parse_op("sums"), std::nullopt);
}

TEST(DataType, BitwiseOperatorsAreForIntegersAlone) {
  for (int i = 0; i < kNumDataTypes; ++i) {
    const auto type = static_cast<DataType>(i);
    EXPECT_EQ(valid(type, Op::kBitXor), type <= DataType::kUint64);
    EXPECT_TRUE(valid(type, Op::kAvg));
    EXPECT_TRUE(valid(type, Op::kPremulSum));
  }
}

template <class T>
constexpr bool fits = size_of(data_type_of<T>) == sizeof(T) && std::is_trivially_copyable_v<T>;

TEST(DataType, EveryElementHasItsType) {
  static_assert(fits<int8_t> && fits<uint16_t> && fits<int32_t> && fits<uint64_t>);
  static_assert(fits<Float16> && fits<BFloat16> && fits<float> && fits<double>);
  static_assert(fits<Float8E4M3> && fits<Float8E5M2>);
  static_assert(data_type_of<long long> == DataType::kInt64);
  static_assert(data_type_of<unsigned long> == DataType::kUint64);
  static_assert(!Element<bool> && !Element<void*> && !Element<long double>);
}

}  // namespace
}  // namespace tutti
