#include "tools/view/question.h"

#include <fmt/format.h>

#include <charconv>

namespace tutti::view {

std::string key_of(const Question& question) {
  std::string key = question.name;
  char separator = '?';
  for (const auto& [name, value] : question.parameters) {
    key += fmt::format("{}{}={}", separator, name, value);
    separator = '&';
  }
  return key;
}

std::string text_of(const Question& question, const std::string& name,
                    const std::string& otherwise) {
  const auto found = question.parameters.find(name);
  return found == question.parameters.end() ? otherwise : found->second;
}

Result<uint64_t> number_of(const Question& question, const std::string& name, uint64_t otherwise,
                           Limits limits) {
  const auto found = question.parameters.find(name);
  if (found == question.parameters.end()) return otherwise;
  const std::string& text = found->second;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (is_number && value >= limits.least && value <= limits.most) return value;
  return Error{ErrorCode::kInvalidArgument, fmt::format("{}: '{}' is not a number from {} to {}",
                                                        name, text, limits.least, limits.most)};
}

Result<double> figure_of(const Question& question, const std::string& name, double otherwise,
                         double most) {
  const auto found = question.parameters.find(name);
  if (found == question.parameters.end()) return otherwise;
  const std::string& text = found->second;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (is_number && value >= 0 && value <= most) return value;
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{}: '{}' is not a number from 0 to {}", name, text, most)};
}

}  // namespace tutti::view
