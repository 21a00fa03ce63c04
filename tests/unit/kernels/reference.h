// What the kernels must do, element by element, written as plainly as possible and sharing nothing
// with them but the conversions of float_types.h, which have tests of their own.
#pragma once

#include <hwy/targets.h>

#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tests/support/sanitized.h"
#include "tutti/data_type.h"

namespace tutti::engine {

// What is calculated with: float for the narrow floats, the unsigned type for integers.
template <class T>
struct Wide {
  using Type = float;
};
template <std::integral T>
struct Wide<T> {
  using Type = T;
};
template <>
struct Wide<double> {
  using Type = double;
};
template <class T>
using WideOf = typename Wide<T>::Type;

template <class T>
T combine(Op op, T a, T b) {
  if constexpr (std::integral<T>) {
    const auto x = static_cast<uint64_t>(a);
    const auto y = static_cast<uint64_t>(b);
    if (op == Op::kProd) return static_cast<T>(x * y);
    if (op == Op::kBitAnd) return static_cast<T>(x & y);
    if (op == Op::kBitOr) return static_cast<T>(x | y);
    if (op == Op::kBitXor) return static_cast<T>(x ^ y);
    if (op == Op::kMin) return a < b ? a : b;
    if (op == Op::kMax) return a > b ? a : b;
    return static_cast<T>(x + y);
  } else {
    if (op == Op::kProd) return a * b;
    if (op == Op::kMin) return a < b || a != a ? a : b;
    if (op == Op::kMax) return a > b || a != a ? a : b;
    return a + b;
  }
}

template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

// The same bits, but for NaN: one is as good as another.
template <class T>
bool same(T a, T b) {
  if constexpr (!std::integral<T>) {
    const auto x = static_cast<WideOf<T>>(a);
    const auto y = static_cast<WideOf<T>>(b);
    if (x != x || y != y) return x != x && y != y;
  }
  return same_bits(a, b);
}

// Any bits at all, so that there are subnormal numbers and infinities. Half of the floats are near
// each other, so that sums have digits to round; some are zero, and some NaN, in every type.
template <class T>
std::vector<T> elements(size_t num, uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> made(num);
  for (T& element : made) {
    const uint64_t bits = random();
    std::memcpy(static_cast<void*>(&element), &bits, sizeof(T));
    if constexpr (!std::integral<T>) {
      const auto number = static_cast<float>(static_cast<int32_t>(bits >> 32)) / (1 << 28);
      if (bits % 2 == 0) element = static_cast<T>(number);
      if (bits % 19 == 0) element = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
    }
    if (bits % 7 == 0) element = static_cast<T>(static_cast<WideOf<T>>(0));
  }
  return made;
}

// Elements at an address `shift` bytes beyond one that is aligned to a line. What lies around
// them must stay as it is.
template <class T>
class Shifted {
 public:
  Shifted(const std::vector<T>& elements, size_t shift)
      : bytes_(elements.size() * sizeof(T) + 3 * kLine, kGuard) {
    const size_t to_line = -reinterpret_cast<uintptr_t>(bytes_.data()) % kLine;
    begin_ = bytes_.data() + to_line + shift;
    num_bytes_ = elements.size() * sizeof(T);
    if (num_bytes_ != 0) std::memcpy(begin_, elements.data(), num_bytes_);
  }
  Shifted(const Shifted&) = delete;
  Shifted& operator=(const Shifted&) = delete;

  void* data() { return begin_; }
  T operator[](size_t i) const {
    T element;
    std::memcpy(static_cast<void*>(&element), begin_ + i * sizeof(T), sizeof(T));
    return element;
  }
  [[nodiscard]] bool nothing_around_is_written() const {
    const unsigned char* at = bytes_.data();
    for (; at != begin_; ++at) {
      if (*at != kGuard) return false;
    }
    for (at += num_bytes_; at != bytes_.data() + bytes_.size(); ++at) {
      if (*at != kGuard) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kLine = 64;
  static constexpr unsigned char kGuard = 0xa5;
  std::vector<unsigned char> bytes_;
  unsigned char* begin_;
  size_t num_bytes_;
};

// Runs `test` once for every instruction set that this CPU has (under a sanitizer, for the best).
// Those that the kernels were not built for run the fallback, which no CPU would choose.
template <class Function>
void for_each_target(Function test) {
  for (int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    const int64_t target = left & -left;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    test(hwy::TargetName(target));
    if (tutti::test::kSanitized) break;
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace tutti::engine
