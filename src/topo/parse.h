// Small pieces of text into numbers, for names, files and the command line. All of the text must be
// the number; nothing is skipped, nothing overflows.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::topo {

inline std::optional<uint32_t> parse_uint32(std::string_view text) {
  uint32_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

// Plain decimals only: no sign, no "inf", no exponent.
inline std::optional<double> parse_decimal(std::string_view text) {
  if (text.find_first_not_of("0123456789.") != std::string_view::npos) return std::nullopt;
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error != std::errc{} || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// The text without its ending, or nothing if it has another one.
inline std::optional<std::string_view> without_suffix(std::string_view text,
                                                      std::string_view suffix) {
  if (!text.ends_with(suffix)) return std::nullopt;
  return text.substr(0, text.size() - suffix.size());
}

}  // namespace tutti::topo
