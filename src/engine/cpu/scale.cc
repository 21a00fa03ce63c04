// Multiplication and division by one number. Floats have vector kernels; integers are rarely
// averaged, and are left to the compiler.
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/reduce.h"

namespace tutti::engine {
namespace {

// Two to the 63rd and 64th are doubles; the largest integers below them are not.
constexpr double kTwo63 = 9223372036854775808.0;
constexpr double kTwo64 = 18446744073709551616.0;

// The factor as the bits of a 64-bit integer, of which every type takes its lowest.
uint64_t integer_factor(double factor) {
  if (std::isnan(factor)) return 0;
  if (factor >= kTwo64) return std::numeric_limits<uint64_t>::max();
  if (factor >= kTwo63) return static_cast<uint64_t>(factor);
  if (factor <= -kTwo63) return uint64_t{1} << 63;
  return static_cast<uint64_t>(static_cast<int64_t>(factor));
}

// A double holds every 32-bit integer, and its quotients of two differ from an integer by more
// than it rounds: truncating them is integer division, in vectors.
template <class T>
T quotient(T value, uint64_t divisor) {
  if constexpr (sizeof(T) < 8) {
    return static_cast<T>(static_cast<double>(value) / static_cast<double>(divisor));
  } else if constexpr (std::signed_integral<T>) {
    const auto bits = static_cast<uint64_t>(value);
    const uint64_t magnitude = (value < 0 ? 0 - bits : bits) / divisor;
    return static_cast<T>(value < 0 ? 0 - magnitude : magnitude);
  } else {
    return value / divisor;
  }
}

template <class T, class Function>
void for_each_element(void* dst, const void* src, size_t elems, Function function) {
  auto* to = static_cast<unsigned char*>(dst);
  const auto* from = static_cast<const unsigned char*>(src);
  for (size_t i = 0; i < elems; ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    value = function(value);
    std::memcpy(to + i * sizeof(T), &value, sizeof(T));
  }
}

template <class T>
void scale_integers(void* dst, const void* src, size_t elems, uint64_t factor) {
  for_each_element<T>(dst, src, elems, [factor](T x) { return static_cast<T>(x * factor); });
}

template <class T>
void divide_integers(void* dst, size_t elems, uint64_t divisor) {
  for_each_element<T>(dst, dst, elems, [divisor](T x) { return quotient(x, divisor); });
}

ScaleKernels float_kernels_of(DataType type) noexcept {
  if (size_of(type) >= 4) return float_scale_kernels(type);
  return narrow_float_scale_kernels(type);
}

}  // namespace

void scale(DataType type, void* dst, const void* src, size_t elems, double factor) noexcept {
  if (!is_integer(type)) {
    // The kernels of bfloat16 count on the lower half of a NaN to be zero.
    if (std::isnan(factor)) factor = std::numeric_limits<double>::quiet_NaN();
    return float_kernels_of(type).multiply(dst, src, elems, factor);
  }
  const uint64_t by = integer_factor(factor);
  switch (size_of(type)) {
    case 1: return scale_integers<uint8_t>(dst, src, elems, by);
    case 2: return scale_integers<uint16_t>(dst, src, elems, by);
    case 4: return scale_integers<uint32_t>(dst, src, elems, by);
    case 8: return scale_integers<uint64_t>(dst, src, elems, by);
  }
}

void divide(DataType type, void* dst, size_t elems, uint64_t divisor) noexcept {
  TUTTI_CHECK(divisor != 0, "an average is over at least one rank");
  switch (type) {
    case DataType::kInt8: return divide_integers<int8_t>(dst, elems, divisor);
    case DataType::kUint8: return divide_integers<uint8_t>(dst, elems, divisor);
    case DataType::kInt16: return divide_integers<int16_t>(dst, elems, divisor);
    case DataType::kUint16: return divide_integers<uint16_t>(dst, elems, divisor);
    case DataType::kInt32: return divide_integers<int32_t>(dst, elems, divisor);
    case DataType::kUint32: return divide_integers<uint32_t>(dst, elems, divisor);
    case DataType::kInt64: return divide_integers<int64_t>(dst, elems, divisor);
    case DataType::kUint64: return divide_integers<uint64_t>(dst, elems, divisor);
    case DataType::kFloat16:
    case DataType::kBFloat16:
    case DataType::kFloat32:
    case DataType::kFloat64:
    case DataType::kFloat8E4M3:
    case DataType::kFloat8E5M2:
      return float_kernels_of(type).divide(dst, dst, elems, static_cast<double>(divisor));
  }
}

}  // namespace tutti::engine
