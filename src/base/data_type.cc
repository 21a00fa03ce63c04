#include "tutti/data_type.h"

#include <array>

namespace tutti {
namespace {

constexpr std::array<std::string_view, kNumDataTypes> kTypeNames = {
    "int8",   "uint8",   "int16",    "uint16",  "int32",   "uint32",      "int64",
    "uint64", "float16", "bfloat16", "float32", "float64", "float8_e4m3", "float8_e5m2"};

constexpr std::array<std::string_view, kNumOps> kOpNames = {
    "sum", "prod", "min", "max", "avg", "band", "bor", "bxor", "premul_sum"};

}  // namespace

std::string_view to_string(DataType type) noexcept { return kTypeNames[static_cast<size_t>(type)]; }

std::string_view to_string(Op op) noexcept { return kOpNames[static_cast<size_t>(op)]; }

std::optional<DataType> parse_data_type(std::string_view text) noexcept {
  for (size_t i = 0; i < kTypeNames.size(); ++i) {
    if (kTypeNames[i] == text) return static_cast<DataType>(i);
  }
  if (text == "half") return DataType::kFloat16;
  if (text == "float") return DataType::kFloat32;
  if (text == "double") return DataType::kFloat64;
  return std::nullopt;
}

std::optional<Op> parse_op(std::string_view text) noexcept {
  for (size_t i = 0; i < kOpNames.size(); ++i) {
    if (kOpNames[i] == text) return static_cast<Op>(i);
  }
  return std::nullopt;
}

}  // namespace tutti
