// An XML element that complains with file, line and attribute. The first complaint of a file is
// its error; later ones are ignored, and a missing attribute reads as zero, so a reader is a list
// of demands with one look at the error at its end.
#pragma once

#include <tinyxml2.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tutti/result.h"

namespace tutti::ir::msccl {

class XmlFile {
 public:
  explicit XmlFile(std::string source) : source_(std::move(source)) {}

  [[nodiscard]] const std::string& source() const { return source_; }
  [[nodiscard]] bool failed() const { return error_.has_value(); }
  [[nodiscard]] Status status() const;
  void fail(int line, std::string_view what);

 private:
  std::string source_;
  std::optional<Error> error_;
};

class XmlElement {
 public:
  XmlElement(XmlFile& file, const tinyxml2::XMLElement& element)
      : file_(&file), element_(&element) {}

  [[nodiscard]] int line() const { return element_->GetLineNum(); }
  [[nodiscard]] std::string_view text(const char* attribute) const;
  [[nodiscard]] int64_t integer(const char* attribute, int64_t min, int64_t max) const;
  [[nodiscard]] int64_t integer_or(const char* attribute, int64_t missing, int64_t min,
                                   int64_t max) const;
  // The attribute's value, or nullopt if it is not there.
  [[nodiscard]] std::optional<std::string_view> find(const char* attribute) const;
  // Calls visit(child) for every child element of that name; others are complained about.
  template <class Visit>
  void for_each(const char* name, Visit visit) const {
    for (auto* child = element_->FirstChildElement(); child != nullptr && !file_->failed();
         child = child->NextSiblingElement()) {
      const XmlElement element(*file_, *child);
      if (std::string_view(child->Name()) == name) {
        visit(element);
      } else {
        element.fail("", std::string("unexpected element inside, only <") + name + "> is known");
      }
    }
  }

  // "FILE:LINE: <step> srcoff: what".
  void fail(std::string_view attribute, std::string_view what) const;

 private:
  XmlFile* file_;
  const tinyxml2::XMLElement* element_;
};

}  // namespace tutti::ir::msccl
