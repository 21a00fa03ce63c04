// The types of elements that collectives move, and the operators that combine them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "tutti/float_types.h"  // IWYU pragma: export

namespace tutti {

enum class DataType : uint8_t {
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kFloat8E4M3,
  kFloat8E5M2,
};
inline constexpr int kNumDataTypes = 14;

// Integers wrap around. kAvg is the sum divided by the number of ranks, truncated towards zero for
// integers. kPremulSum is the sum of each rank's elements times that rank's factor. kMin and kMax
// give NaN if there is one.
enum class Op : uint8_t { kSum, kProd, kMin, kMax, kAvg, kBitAnd, kBitOr, kBitXor, kPremulSum };
inline constexpr int kNumOps = 9;

[[nodiscard]] constexpr size_t size_of(DataType type) noexcept {
  switch (type) {
    case DataType::kInt8:
    case DataType::kUint8:
    case DataType::kFloat8E4M3:
    case DataType::kFloat8E5M2: return 1;
    case DataType::kInt16:
    case DataType::kUint16:
    case DataType::kFloat16:
    case DataType::kBFloat16: return 2;
    case DataType::kInt32:
    case DataType::kUint32:
    case DataType::kFloat32: return 4;
    case DataType::kInt64:
    case DataType::kUint64:
    case DataType::kFloat64: return 8;
  }
  return 0;
}

[[nodiscard]] constexpr bool is_integer(DataType type) noexcept {
  return type <= DataType::kUint64;
}

[[nodiscard]] constexpr bool is_bitwise(Op op) noexcept {
  return op == Op::kBitAnd || op == Op::kBitOr || op == Op::kBitXor;
}

// Whether elements of the type can be combined so: bits of integers alone, all else of all types.
[[nodiscard]] constexpr bool valid(DataType type, Op op) noexcept {
  return is_integer(type) || !is_bitwise(op);
}

// "int8", "bfloat16", "float8_e4m3", ...; "sum", "band", "premul_sum", ...: the spelling of files
// and of the command line. nccl-tests' "half", "float" and "double" are read too, never written.
[[nodiscard]] std::string_view to_string(DataType type) noexcept;
[[nodiscard]] std::string_view to_string(Op op) noexcept;
[[nodiscard]] std::optional<DataType> parse_data_type(std::string_view text) noexcept;
[[nodiscard]] std::optional<Op> parse_op(std::string_view text) noexcept;

namespace detail {

template <class T>
constexpr std::optional<DataType> integer_type() noexcept {
  constexpr bool kIsSigned = std::is_signed_v<T>;
  switch (sizeof(T)) {
    case 1: return kIsSigned ? DataType::kInt8 : DataType::kUint8;
    case 2: return kIsSigned ? DataType::kInt16 : DataType::kUint16;
    case 4: return kIsSigned ? DataType::kInt32 : DataType::kUint32;
    case 8: return kIsSigned ? DataType::kInt64 : DataType::kUint64;
  }
  return std::nullopt;
}

// By size and sign, so that long and long long are both there. bool is not a number.
template <class T>
constexpr std::optional<DataType> find_data_type() noexcept {
  if constexpr (std::integral<T> && !std::same_as<T, bool>) return integer_type<T>();
  if constexpr (std::same_as<T, Float16>) return DataType::kFloat16;
  if constexpr (std::same_as<T, BFloat16>) return DataType::kBFloat16;
  if constexpr (std::same_as<T, float>) return DataType::kFloat32;
  if constexpr (std::same_as<T, double>) return DataType::kFloat64;
  if constexpr (std::same_as<T, Float8E4M3>) return DataType::kFloat8E4M3;
  if constexpr (std::same_as<T, Float8E5M2>) return DataType::kFloat8E5M2;
  return std::nullopt;
}

}  // namespace detail

// A C++ type whose values a collective can move.
template <class T>
concept Element = detail::find_data_type<T>().has_value();

template <Element T>
// NOLINTNEXTLINE(readability-identifier-naming): a trait, written like those of the standard
inline constexpr DataType data_type_of = *detail::find_data_type<T>();

}  // namespace tutti
