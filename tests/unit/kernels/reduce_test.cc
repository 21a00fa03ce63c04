#include "engine/cpu/reduce.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/unit/kernels/reference.h"

namespace tutti::engine {
namespace {

constexpr size_t kCounts[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 1023};
// An element at a time for the narrow types, and odd for the wide ones.
constexpr size_t kShifts[] = {0, 1, 4, 63};

template <class T>
class Reduce : public testing::Test {};

using Elements = testing::Types<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t,
                                uint64_t, Float16, BFloat16, float, double, Float8E4M3, Float8E5M2>;
TYPED_TEST_SUITE(Reduce, Elements);

template <class T>
T expected(Op op, T a, T b) {
  return static_cast<T>(combine(op, static_cast<WideOf<T>>(a), static_cast<WideOf<T>>(b)));
}

template <class Function>
void for_each_op(DataType type, Function test) {
  for (int i = 0; i < kNumOps; ++i) {
    const auto op = static_cast<Op>(i);
    if (valid(type, op)) test(op);
  }
}

enum class Place { kApart, kOnA, kOnB };

template <class T>
struct Case {
  Op op;
  Stores stores;
  Place place;
  size_t count;
  size_t shift;
};

template <class T>
testing::AssertionResult reduces(const Case<T>& c) {
  const std::vector<T> a = elements<T>(c.count, 1);
  const std::vector<T> b = elements<T>(c.count, 2);
  Shifted<T> at_a(a, c.shift);
  Shifted<T> at_b(b, c.shift / 2);
  Shifted<T> apart(a, 63 - c.shift);
  Shifted<T>& dst = c.place == Place::kApart ? apart : c.place == Place::kOnA ? at_a : at_b;
  reduce_function(data_type_of<T>, c.op, c.stores)(dst.data(), at_a.data(), at_b.data(), c.count);
  for (size_t i = 0; i < c.count; ++i) {
    if (!same(dst[i], expected(c.op, a[i], b[i]))) {
      return testing::AssertionFailure()
             << to_string(data_type_of<T>) << " " << to_string(c.op) << " of " << c.count
             << " elements at " << c.shift << ": element " << i << " is wrong";
    }
  }
  if (!dst.nothing_around_is_written()) return testing::AssertionFailure() << "wrote around it";
  return testing::AssertionSuccess();
}

template <class T>
void expect_reduces(Stores stores) {
  for_each_target([&](const char* target) {
    SCOPED_TRACE(target);
    for_each_op(data_type_of<T>, [&](Op op) {
      for (const size_t count : kCounts) {
        for (const size_t shift : kShifts) {
          for (const Place place : {Place::kApart, Place::kOnA, Place::kOnB}) {
            ASSERT_TRUE(reduces(Case<T>{op, stores, place, count, shift}));
          }
        }
      }
    });
  });
}

TYPED_TEST(Reduce, CombinesAnyCountAtAnyAddressAndInPlace) {
  expect_reduces<TypeParam>(Stores::kCached);
}

TYPED_TEST(Reduce, StreamsTheSameBits) { expect_reduces<TypeParam>(Stores::kStreaming); }

TYPED_TEST(Reduce, StreamsMoreThanOneBlock) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    for (const size_t shift : kShifts) {
      ASSERT_TRUE(
          reduces(Case<TypeParam>{Op::kSum, Stores::kStreaming, Place::kOnA, 10007, shift}));
    }
  });
}

template <class T>
T expected_fold(Op op, const std::vector<std::vector<T>>& sources, size_t i) {
  auto sum = static_cast<WideOf<T>>(sources[0][i]);
  for (size_t s = 1; s < sources.size(); ++s) {
    sum = combine(op, sum, static_cast<WideOf<T>>(sources[s][i]));
  }
  return static_cast<T>(sum);
}

template <class T>
void expect_folds(Op op, size_t num_sources, size_t count) {
  std::vector<std::vector<T>> made;
  std::vector<std::unique_ptr<Shifted<T>>> placed;
  std::vector<const void*> sources;
  for (uint32_t s = 0; s < num_sources; ++s) {
    made.push_back(elements<T>(count, s + 1));
    placed.push_back(std::make_unique<Shifted<T>>(made[s], s));
    sources.push_back(placed[s]->data());
  }
  Shifted<T>& dst = *placed[num_sources / 2];
  fold_function(data_type_of<T>, op)(dst.data(), sources.data(), num_sources, count);
  for (size_t i = 0; i < count; ++i) {
    ASSERT_TRUE(same(dst[i], expected_fold(op, made, i)))
        << to_string(op) << " of " << num_sources << " times " << count << " at " << i;
  }
  ASSERT_TRUE(dst.nothing_around_is_written());
}

// In place, too: the destination is one of the sources.
TYPED_TEST(Reduce, FoldsFromTheLeftAndRoundsOnce) {
  for_each_target([](const char* target) {
    SCOPED_TRACE(target);
    for_each_op(data_type_of<TypeParam>, [](Op op) {
      for (const size_t count : kCounts) {
        for (const size_t num_sources : {1, 2, 3, 8}) {
          expect_folds<TypeParam>(op, num_sources, count);
        }
      }
    });
  });
}

TEST(ReduceFunction, TakesTheSecondOfEqualsForMinAndMax) {
  for (const Op op : {Op::kMin, Op::kMax}) {
    const float zeros[] = {0.0F, -0.0F};
    const float others[] = {-0.0F, 0.0F};
    float dst[2];
    reduce_function(DataType::kFloat32, op)(dst, zeros, others, 2);
    EXPECT_TRUE(same_bits(dst[0], -0.0F));
    EXPECT_TRUE(same_bits(dst[1], 0.0F));
  }
}

TEST(ReduceFunction, HasNoBitwiseOperatorsForFloats) {
  EXPECT_EQ(reduce_function(DataType::kFloat32, Op::kBitAnd), nullptr);
  EXPECT_EQ(reduce_function(DataType::kFloat8E4M3, Op::kBitOr, Stores::kStreaming), nullptr);
  EXPECT_EQ(fold_function(DataType::kBFloat16, Op::kBitXor), nullptr);
}

}  // namespace
}  // namespace tutti::engine
