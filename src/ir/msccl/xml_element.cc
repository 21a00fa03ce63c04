#include "ir/msccl/xml_element.h"

#include <fmt/format.h>

#include <charconv>

namespace tutti::ir::msccl {

Status XmlFile::status() const {
  if (error_) return *error_;
  return {};
}

void XmlFile::fail(int line, std::string_view what) {
  if (error_) return;
  error_ = Error{ErrorCode::kMalformed, fmt::format("{}:{}: {}", source_, line, what)};
}

std::optional<std::string_view> XmlElement::find(const char* attribute) const {
  const char* value = element_->Attribute(attribute);
  if (value == nullptr) return std::nullopt;
  return value;
}

std::string_view XmlElement::text(const char* attribute) const {
  const auto value = find(attribute);
  if (!value) fail(attribute, "is missing");
  return value.value_or(std::string_view());
}

int64_t XmlElement::integer(const char* attribute, int64_t min, int64_t max) const {
  const std::string_view digits = text(attribute);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size();
  if (whole && value >= min && value <= max) return value;
  fail(attribute, fmt::format("must be a whole number from {} to {}", min, max));
  return min > 0 ? min : 0;
}

int64_t XmlElement::integer_or(const char* attribute, int64_t missing, int64_t min,
                               int64_t max) const {
  return find(attribute) ? integer(attribute, min, max) : missing;
}

void XmlElement::fail(std::string_view attribute, std::string_view what) const {
  const char* space = attribute.empty() ? "" : " ";
  file_->fail(line(), fmt::format("<{}>{}{}: {}", element_->Name(), space, attribute, what));
}

}  // namespace tutti::ir::msccl
