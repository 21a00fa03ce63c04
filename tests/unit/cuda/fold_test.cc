// The folds of the GPU engine against the kernels of the CPU engine, which have tests of their own.
#include "engine/cuda/fold.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "engine/cpu/reduce.h"
#include "tests/unit/kernels/reference.h"

namespace tutti::engine {
namespace {

template <class T>
class FoldElements : public testing::Test {};

using FoldedTypes =
    testing::Types<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t,
                   Float16, BFloat16, float, double, Float8E4M3, Float8E5M2>;
TYPED_TEST_SUITE(FoldElements, FoldedTypes);

constexpr size_t kFoldedCounts[] = {0, 1, 2, 3, 17, 64, 101};

struct FoldCase {
  Op op = Op::kSum;
  uint32_t num_sources = 1;
  uint32_t num_dsts = 1;
  size_t count = 0;
  bool in_place = false;
  uint64_t divisor = 0;
  std::vector<double> factors;  // empty: not scaled
};

std::ostream& operator<<(std::ostream& out, const FoldCase& c) {
  return out << to_string(c.op) << " of " << c.num_sources << " into " << c.num_dsts << ", "
             << c.count << " elements" << (c.in_place ? " in place" : "") << " over " << c.divisor
             << (c.factors.empty() ? "" : " scaled");
}

template <class T>
using Vectors = std::vector<std::vector<T>>;

// What the CPU engine makes of it: inputs scaled into buffers, one fold, one division.
template <class T>
std::vector<T> by_cpu_kernels(const FoldCase& c, Vectors<T> inputs) {
  constexpr DataType kType = data_type_of<T>;
  std::vector<const void*> sources;
  for (size_t s = 0; s < inputs.size(); ++s) {
    T* input = inputs[s].data();
    if (!c.factors.empty()) scale(kType, input, input, c.count, c.factors[s]);
    sources.push_back(input);
  }
  std::vector<T> result(c.count);
  if (inputs.size() == 1) {
    result = inputs[0];
  } else if (inputs.size() == 2) {
    reduce_function(kType, c.op)(result.data(), sources[0], sources[1], c.count);
  } else {
    fold_function(kType, c.op)(result.data(), sources.data(), sources.size(), c.count);
  }
  if (c.divisor != 0) divide(kType, result.data(), c.count, c.divisor);
  return result;
}

template <class T>
using Placed = std::vector<std::unique_ptr<Shifted<T>>>;

template <class T>
Fold fold_of(const FoldCase& c, const Placed<T>& sources, const Placed<T>& dsts) {
  Fold fold{};
  fold.num_sources = static_cast<uint8_t>(sources.size());
  fold.num_dsts = static_cast<uint8_t>(dsts.size());
  fold.bytes = c.count * sizeof(T);
  fold.divisor = c.divisor;
  fold.type = static_cast<uint8_t>(data_type_of<T>);
  fold.op = static_cast<uint8_t>(c.op);
  fold.is_scaled = c.factors.empty() ? 0 : 1;
  for (size_t s = 0; s < sources.size(); ++s) {
    fold.sources[s] = static_cast<const std::byte*>(sources[s]->data());
    if (!c.factors.empty()) fold.factors[s] = c.factors[s];
  }
  for (size_t d = 0; d < dsts.size(); ++d) {
    fold.dsts[d] = static_cast<std::byte*>(dsts[d]->data());
  }
  if (c.in_place) fold.dsts[0] = const_cast<std::byte*>(fold.sources[sources.size() / 2]);
  return fold;
}

template <class T>
testing::AssertionResult holds(const Shifted<T>& dst, const std::vector<T>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!same(dst[i], expected[i])) return testing::AssertionFailure() << "element " << i;
  }
  if (!dst.nothing_around_is_written()) return testing::AssertionFailure() << "wrote around it";
  return testing::AssertionSuccess();
}

// As three threads would, one after the other.
template <class T>
void expect_as_on_cpu(const FoldCase& c, const Vectors<T>& inputs) {
  Placed<T> sources;
  Placed<T> dsts;
  for (const auto& input : inputs) {
    sources.push_back(std::make_unique<Shifted<T>>(input, sources.size()));
  }
  const std::vector<T> noise = elements<T>(c.count, 99);
  for (uint32_t d = 0; d < c.num_dsts; ++d) {
    dsts.push_back(std::make_unique<Shifted<T>>(noise, 3 * d + 1));
  }
  const Fold fold = fold_of(c, sources, dsts);
  for (uint64_t thread = 0; thread < 3; ++thread) fold_elements(fold, thread, 3);
  const std::vector<T> expected = by_cpu_kernels(c, inputs);
  for (uint32_t d = 0; d < c.num_dsts; ++d) {
    const Shifted<T>& dst = c.in_place && d == 0 ? *sources[inputs.size() / 2] : *dsts[d];
    ASSERT_TRUE(holds(dst, expected)) << to_string(data_type_of<T>) << " " << c << " at " << d;
  }
  for (size_t s = 0; s < inputs.size(); ++s) {
    if (c.in_place && s == inputs.size() / 2) continue;
    ASSERT_TRUE(holds(*sources[s], inputs[s])) << "source " << s << " has changed";
  }
}

template <class T>
void expect_as_on_cpu(const FoldCase& c) {
  Vectors<T> inputs;
  for (uint32_t s = 0; s < c.num_sources; ++s) inputs.push_back(elements<T>(c.count, s + 1));
  expect_as_on_cpu(c, inputs);
}

template <class T, class Function>
void for_each_valid_op(Function test) {
  for (int i = 0; i < kNumOps; ++i) {
    const auto op = static_cast<Op>(i);
    if (valid(data_type_of<T>, op)) test(op);
  }
}

TYPED_TEST(FoldElements, CombineAnyNumberOfSourcesInTheirOrder) {
  for_each_valid_op<TypeParam>([](Op op) {
    for (const size_t count : kFoldedCounts) {
      for (uint32_t num_sources = 1; num_sources <= 9; ++num_sources) {
        for (const bool in_place : {false, true}) {
          expect_as_on_cpu<TypeParam>({op, num_sources, 1, count, in_place, 0, {}});
        }
      }
    }
  });
}

TYPED_TEST(FoldElements, TakeAsManySourcesAndDestinationsAsThereCanBe) {
  for (const uint32_t num_dsts : {0U, 2U, 7U, kMostDsts}) {
    for (const uint32_t num_sources : {1U, 2U, kMostSources}) {
      for (const bool in_place : {false, true}) {
        if (num_dsts == 0 && in_place) continue;
        expect_as_on_cpu<TypeParam>({Op::kSum, num_sources, num_dsts, 101, in_place, 0, {}});
      }
    }
  }
}

TYPED_TEST(FoldElements, DivideWhatWasRounded) {
  for (const uint64_t divisor : {1ULL, 3ULL, 8ULL, 255ULL, (1ULL << 24) + 1, 1ULL << 32, ~0ULL}) {
    for (const uint32_t num_sources : {1U, 2U, 5U}) {
      for (const size_t count : kFoldedCounts) {
        expect_as_on_cpu<TypeParam>({Op::kAvg, num_sources, 2, count, true, divisor, {}});
      }
    }
  }
}

TYPED_TEST(FoldElements, RoundAScaledSourceBeforeItIsCombined) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> factors = {0.1, -3.0, 1.0 / 3, 0.0, 1e30, -1e30, 9.3e18, nan, 1e-40};
  for (uint32_t num_sources = 1; num_sources <= factors.size(); ++num_sources) {
    for (const bool from_the_end : {false, true}) {
      const auto first = from_the_end ? factors.end() - num_sources : factors.begin();
      const std::vector<double> some(first, first + num_sources);
      for (const uint64_t divisor : {0U, 7U}) {
        expect_as_on_cpu<TypeParam>({Op::kPremulSum, num_sources, 2, 101, true, divisor, some});
      }
    }
  }
}

// Integers at both ends of what a type holds.
TYPED_TEST(FoldElements, DivideTheLeastAndTheLargest) {
  if constexpr (std::integral<TypeParam>) {
    using Limits = std::numeric_limits<TypeParam>;
    const Vectors<TypeParam> inputs = {{Limits::min(), Limits::max(), 0, 1}};
    for (const uint64_t divisor : {1ULL, 2ULL, 3ULL, 0xffffffffULL, 1ULL << 63, ~0ULL}) {
      expect_as_on_cpu<TypeParam>({Op::kAvg, 1, 1, 4, false, divisor, {}}, inputs);
    }
  }
}

template <class T>
std::vector<T> all_patterns(size_t num, size_t shift) {
  std::vector<T> presence(num);
  for (size_t i = 0; i < num; ++i) {
    const size_t bits = i + shift;
    std::memcpy(static_cast<void*>(&presence[i]), &bits, sizeof(T));
  }
  return presence;
}

// Every number of 16 bits with some others, and every pair of those of 8 bits.
TYPED_TEST(FoldElements, KnowEveryPatternOfTheNarrowFloats) {
  if constexpr (sizeof(TypeParam) <= 2 && !std::integral<TypeParam>) {
    const auto all = all_patterns<TypeParam>(65536, 0);
    for (const size_t shift : {0x8000, 0x7c00, 0x0102, 0x3e03}) {
      auto others = all_patterns<TypeParam>(65536, shift);
      if (sizeof(TypeParam) == 1) {
        for (size_t i = 0; i < others.size(); ++i) others[i] = all[i / 256];
      }
      for_each_valid_op<TypeParam>([&](Op op) {
        expect_as_on_cpu<TypeParam>({op, 2, 1, all.size(), true, 0, {}}, {all, others});
      });
      if (sizeof(TypeParam) == 1) break;
    }
    for (const double factor : {1.0, 1.0 / 3, 1e-3, 1000.0}) {
      expect_as_on_cpu<TypeParam>({Op::kPremulSum, 1, 1, all.size(), false, 3, {factor}}, {all});
    }
  }
}

TEST(FoldCopy, LeavesNaNAsItIs) {
  const auto all = all_patterns<BFloat16>(65536, 0);
  std::vector<BFloat16> dst(all.size());
  Fold fold{};
  fold.sources[0] = reinterpret_cast<const std::byte*>(all.data());
  fold.dsts[0] = reinterpret_cast<std::byte*>(dst.data());
  fold.bytes = all.size() * sizeof(BFloat16);
  fold.num_sources = 1;
  fold.num_dsts = 1;
  fold.type = static_cast<uint8_t>(DataType::kBFloat16);
  EXPECT_TRUE(is_copy(fold));
  fold_elements(fold, 0, 1);
  EXPECT_EQ(std::memcmp(dst.data(), all.data(), fold.bytes), 0);
}

TEST(FoldAround, LeavesTheGapAlone) {
  const std::vector<uint32_t> src = {1, 2, 3, 4, 5, 6, 7};
  std::vector<uint32_t> dst(src.size());
  Fold fold{};
  fold.sources[0] = reinterpret_cast<const std::byte*>(src.data());
  fold.dsts[0] = reinterpret_cast<std::byte*>(dst.data());
  fold.bytes = src.size() * sizeof(uint32_t);
  fold.num_sources = 1;
  fold.num_dsts = 1;
  fold.type = static_cast<uint8_t>(DataType::kUint32);
  for (uint64_t thread = 0; thread < 2; ++thread) fold_around(fold, Gap{2, 3}, thread, 2);
  EXPECT_EQ(dst, (std::vector<uint32_t>{1, 2, 0, 0, 0, 6, 7}));
}

}  // namespace
}  // namespace tutti::engine
