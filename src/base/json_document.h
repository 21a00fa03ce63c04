// JSON that knows its lines. Every value remembers where it stood, so that an error about its
// meaning
// ("ranks must be a number") can name the line, as a syntax error does.
//
// Reading is by demand: json.field("ranks").uint32(1, 1u << 20). The first demand that is not met
// is the error of the whole read; later ones return zeros and are ignored, so a reader is a
// straight list of demands with one look at the error at its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tutti/result.h"

namespace tutti::base {

class JsonDocument;

// A value of a document. Cheap to copy; valid as long as its document. A JsonValue that stands for
// something missing answers every demand with zero, empty or false.
class JsonValue {
 public:
  [[nodiscard]] JsonValue field(std::string_view name) const;     // demands it to be there
  [[nodiscard]] JsonValue optional(std::string_view name) const;  // missing if it is not
  [[nodiscard]] JsonValue at(size_t index) const;
  [[nodiscard]] size_t size() const;  // of an array; demands one
  // Demands an object whose fields are all among `names`: a misspelt field is an error.
  void only_fields(std::initializer_list<std::string_view> names) const;

  [[nodiscard]] uint64_t uint64(uint64_t min, uint64_t max) const;
  [[nodiscard]] uint32_t uint32(uint32_t min, uint32_t max) const;
  [[nodiscard]] double number(double min, double max) const;
  [[nodiscard]] std::string_view string() const;
  [[nodiscard]] bool boolean() const;

  [[nodiscard]] bool exists() const { return node_ != nullptr; }
  [[nodiscard]] bool is_string() const;
  [[nodiscard]] bool is_array() const;
  [[nodiscard]] bool is_object() const;
  // The fields of an object in file order; demands one.
  [[nodiscard]] std::vector<std::pair<std::string_view, JsonValue>> fields() const;

  // Records "FILE:LINE: where: what" as the document's error, unless it has one already.
  void fail(std::string_view what) const;

 private:
  friend class JsonDocument;
  struct Node;
  JsonValue(JsonDocument* document, const Node* node) : document_(document), node_(node) {}

  JsonDocument* document_;
  const Node* node_;
};

class JsonDocument {
 public:
  // `source` names the text in errors: a file name. kMalformed with the line for bad syntax, for a
  // key given twice and for more than 64 levels.
  static Result<std::unique_ptr<JsonDocument>> parse(std::string_view text, std::string source);
  ~JsonDocument();
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  [[nodiscard]] JsonValue root();
  // The first demand that was not met.
  [[nodiscard]] Status status() const;

 private:
  friend class JsonValue;
  explicit JsonDocument(std::string source);

  class Strings;
  class TreeBuilder;

  std::string source_;
  std::unique_ptr<Strings> strings_;
  std::unique_ptr<JsonValue::Node> root_;
  std::unique_ptr<Error> error_;
};

// The text as a JSON string, in its quotes; bytes that are no UTF-8 are replaced.
[[nodiscard]] std::string json_quoted(std::string_view text);

}  // namespace tutti::base
