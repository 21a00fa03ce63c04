#include "tools/perf/numbers.h"

#include <algorithm>
#include <cstring>

namespace tutti::tools::perf {
namespace {

// Calls visit with a value of the C++ type.
template <class Visit>
void with_type(DataType type, Visit visit) {
  switch (type) {
    case DataType::kInt8: return visit(int8_t{});
    case DataType::kUint8: return visit(uint8_t{});
    case DataType::kInt16: return visit(int16_t{});
    case DataType::kUint16: return visit(uint16_t{});
    case DataType::kInt32: return visit(int32_t{});
    case DataType::kUint32: return visit(uint32_t{});
    case DataType::kInt64: return visit(int64_t{});
    case DataType::kUint64: return visit(uint64_t{});
    case DataType::kFloat16: return visit(Float16{});
    case DataType::kBFloat16: return visit(BFloat16{});
    case DataType::kFloat32: return visit(float{});
    case DataType::kFloat64: return visit(double{});
    case DataType::kFloat8E4M3: return visit(Float8E4M3{});
    case DataType::kFloat8E5M2: return visit(Float8E5M2{});
  }
}

template <class T>
T from_double(double value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(value);
  } else {
    return T(static_cast<float>(value));
  }
}

template <class T>
double to_double(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else {
    return static_cast<double>(static_cast<float>(value));
  }
}

}  // namespace

// A product stays exact when few factors are not 1; sums of 8-bit floats when they stay below 16.
double contribution(DataType type, Op op, uint32_t rank, uint64_t place) {
  if (op == Op::kProd) return (rank + place) % 8 == 0 ? 2 : 1;
  if (size_of(type) == 1) return (rank + place) % 5 == 0 ? 1 : 0;
  return static_cast<double>((rank + place) % 7 + 1);
}

double reduced(DataType type, Op op, uint32_t num_ranks, uint64_t place) {
  double result = contribution(type, op, 0, place);
  for (uint32_t rank = 1; rank < num_ranks; ++rank) {
    const double next = contribution(type, op, rank, place);
    const auto bits = [](double value) { return static_cast<uint64_t>(value); };
    switch (op) {
      case Op::kSum:
      case Op::kAvg:
      case Op::kPremulSum: result += next; break;
      case Op::kProd: result *= next; break;
      case Op::kMin: result = std::min(result, next); break;
      case Op::kMax: result = std::max(result, next); break;
      case Op::kBitAnd: result = static_cast<double>(bits(result) & bits(next)); break;
      case Op::kBitOr: result = static_cast<double>(bits(result) | bits(next)); break;
      case Op::kBitXor: result = static_cast<double>(bits(result) ^ bits(next)); break;
    }
  }
  if (op == Op::kAvg) result /= num_ranks;
  // Rounded as the type rounds; integers drop the fraction.
  alignas(8) std::byte element[8];
  store(type, element, 0, result);
  return load(type, element, 0);
}

void store(DataType type, void* row, uint64_t place, double value) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const T element = from_double<T>(value);
    std::memcpy(static_cast<std::byte*>(row) + place * sizeof(T), &element, sizeof(T));
  });
}

double load(DataType type, const void* row, uint64_t place) {
  double value = 0;
  with_type(type, [&](auto element) {
    using T = decltype(element);
    std::memcpy(&element, static_cast<const std::byte*>(row) + place * sizeof(T), sizeof(T));
    value = to_double<T>(element);
  });
  return value;
}

}  // namespace tutti::tools::perf
