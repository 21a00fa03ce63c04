// Types and operators: small numbers, so that every result is exact in every type.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/nccl/nccl_ranks.h"
#include "tutti/float_types.h"

namespace tutti {
namespace {

using test::NcclRank;
using test::on_nccl_ranks;

constexpr int kRanks = 4;

template <class T>
T from_number(int number) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<T>(number);
  else
    return T(static_cast<float>(number));
}

template <class T>
int to_number(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<int>(value);
  else
    return static_cast<int>(static_cast<float>(value));
}

// Ranks have 1, 2, 2 and 3.
constexpr int kHeld[kRanks] = {1, 2, 2, 3};

template <class T>
void expect_all_reduce(NcclRank& self, ncclDataType_t type, ncclRedOp_t op, int want) {
  const std::vector<T> in(17, from_number<T>(kHeld[self.rank]));
  std::vector<T> out(17);
  TUTTI_OK(ncclAllReduce(in.data(), out.data(), 17, type, op, self.comm, &self.stream));
  self.stream.synchronize();
  for (const T& one : out) ASSERT_EQ(to_number(one), want) << "type " << type << " op " << op;
}

template <class T>
void expect_operators(ncclDataType_t type) {
  on_nccl_ranks(kRanks, [&](NcclRank& self) {
    expect_all_reduce<T>(self, type, ncclSum, 8);
    expect_all_reduce<T>(self, type, ncclProd, 12);
    expect_all_reduce<T>(self, type, ncclMax, 3);
    expect_all_reduce<T>(self, type, ncclMin, 1);
    expect_all_reduce<T>(self, type, ncclAvg, 2);
    // 2*1 + 1*2 + 1*2 + 2*3, and all sums of some of them have at most three bits.
    T scalar = from_number<T>(self.rank % 3 == 0 ? 2 : 1);
    ncclRedOp_t op = ncclSum;
    TUTTI_OK(ncclRedOpCreatePreMulSum(&op, &scalar, type, ncclScalarHostImmediate, self.comm));
    EXPECT_GE(op, ncclNumOps);
    scalar = T();
    expect_all_reduce<T>(self, type, op, 12);
    TUTTI_OK(ncclRedOpDestroy(op, self.comm));
  });
}

TEST(NcclReductions, OfIntegers) {
  expect_operators<int8_t>(ncclInt8);
  expect_operators<uint8_t>(ncclUint8);
  expect_operators<int32_t>(ncclInt32);
  expect_operators<uint32_t>(ncclUint32);
  expect_operators<int64_t>(ncclInt64);
  expect_operators<uint64_t>(ncclUint64);
}

TEST(NcclReductions, OfFloats) {
  expect_operators<Float16>(ncclFloat16);
  expect_operators<float>(ncclFloat32);
  expect_operators<double>(ncclFloat64);
  expect_operators<BFloat16>(ncclBfloat16);
  expect_operators<Float8E4M3>(ncclFloat8e4m3);
  expect_operators<Float8E5M2>(ncclFloat8e5m2);
}

TEST(NcclReductions, OperatorsAreTheCommunicatorsOwnAndOfOneType) {
  on_nccl_ranks(1, [](NcclRank& self) {
    float two = 2;
    float three = 3;
    ncclRedOp_t op = ncclSum;
    ncclRedOp_t other = ncclSum;
    TUTTI_OK(ncclRedOpCreatePreMulSum(&op, &two, ncclFloat32, ncclScalarHostImmediate, self.comm));
    TUTTI_OK(
        ncclRedOpCreatePreMulSum(&other, &three, ncclFloat32, ncclScalarHostImmediate, self.comm));
    EXPECT_NE(op, other);
    float data = 5;
    TUTTI_OK(ncclAllReduce(&data, &data, 1, ncclFloat32, other, self.comm, &self.stream));
    TUTTI_OK(ncclAllReduce(&data, &data, 1, ncclFloat32, op, self.comm, &self.stream));
    self.stream.synchronize();
    EXPECT_EQ(data, 30);
    double wrong = 0;
    EXPECT_EQ(ncclAllReduce(&wrong, &wrong, 1, ncclFloat64, op, self.comm, &self.stream),
              ncclInvalidArgument);
    EXPECT_STREQ(ncclGetLastError(nullptr), "the operator was made for float32, not for float64");
    TUTTI_OK(ncclRedOpDestroy(op, self.comm));
    EXPECT_EQ(ncclRedOpDestroy(op, self.comm), ncclInvalidArgument);
    EXPECT_EQ(ncclAllReduce(&data, &data, 1, ncclFloat32, op, self.comm, &self.stream),
              ncclInvalidArgument);
    EXPECT_EQ(ncclRedOpDestroy(ncclSum, self.comm), ncclInvalidArgument);
    // A number that is free again is used again.
    ncclRedOp_t again = ncclSum;
    TUTTI_OK(
        ncclRedOpCreatePreMulSum(&again, &two, ncclFloat32, ncclScalarHostImmediate, self.comm));
    EXPECT_EQ(again, op);
  });
}

TEST(NcclReductions, ScalarsThatCannotBeReadAreRefused) {
  on_nccl_ranks(1, [](NcclRank& self) {
    ncclRedOp_t op = ncclSum;
    int64_t scalar = (int64_t{1} << 53) + 1;
    EXPECT_EQ(ncclRedOpCreatePreMulSum(&op, &scalar, ncclInt64, ncclScalarHostImmediate, self.comm),
              ncclInvalidUsage);
    scalar = -(int64_t{1} << 53);
    EXPECT_EQ(ncclRedOpCreatePreMulSum(&op, &scalar, ncclInt64, ncclScalarHostImmediate, self.comm),
              ncclSuccess);
    EXPECT_EQ(ncclRedOpCreatePreMulSum(&op, &scalar, ncclInt64, ncclScalarDevice, self.comm),
              ncclInvalidUsage);
    EXPECT_STREQ(
        ncclGetLastError(nullptr),
        "a scalar in the GPU's memory is not served: pass it with ncclScalarHostImmediate");
    EXPECT_EQ(
        ncclRedOpCreatePreMulSum(nullptr, &scalar, ncclInt64, ncclScalarHostImmediate, self.comm),
        ncclInvalidArgument);
  });
}

}  // namespace
}  // namespace tutti
