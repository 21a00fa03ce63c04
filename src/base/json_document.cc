#include "base/json_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/check.h"

namespace tutti::base {

struct JsonValue::Node {
  enum class Type : uint8_t { kNull, kBool, kUint, kNegative, kDouble, kString, kArray, kObject };

  Type type = Type::kNull;
  uint32_t line = 0;
  union {
    uint64_t integer = 0;  // kBool, kUint; kNegative is only ever refused
    double real;           // kDouble
  };
  std::string_view key;   // of a field of an object
  std::string_view text;  // kString
  std::vector<Node> children;
};

namespace {

constexpr size_t kMaxDepth = 64;

// Feeds the parser and counts lines. A line break counts when the character after it is read: the
// parser reads one character past a number, and that must not move the number to the next line.
class LineIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  LineIterator(const char* at, uint32_t* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  LineIterator& operator++() {
    if (pending_) ++*line_;
    pending_ = *at_++ == '\n';
    return *this;
  }
  LineIterator operator++(int) {
    LineIterator old = *this;
    ++*this;
    return old;
  }
  friend bool operator==(const LineIterator& a, const LineIterator& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  uint32_t* line_;
  bool pending_ = false;
};

}  // namespace

// Owns the text of keys and strings: nodes only point at it, and equal keys share one copy.
class JsonDocument::Strings {
 public:
  std::string_view keep(std::string&& text) { return texts_.emplace_back(std::move(text)); }
  std::string_view intern(std::string&& key) {
    const auto known = keys_.find(key);
    if (known != keys_.end()) return known->second;
    const std::string_view kept = keep(std::move(key));
    keys_.emplace(kept, kept);
    return kept;
  }

 private:
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, std::string_view> keys_;
};

// Builds the tree from the parser's events; open_ is the path from the root to where we are.
class JsonDocument::TreeBuilder {
 public:
  using Node = JsonValue::Node;
  using Type = Node::Type;

  TreeBuilder(Strings& strings, const uint32_t& line) : strings_(strings), line_(line) {}

  bool null() { return add(make(Type::kNull)); }
  bool boolean(bool value) { return add(make_integer(Type::kBool, value ? 1 : 0)); }
  bool number_unsigned(uint64_t value) { return add(make_integer(Type::kUint, value)); }
  bool number_integer(int64_t value) {
    if (value >= 0) return number_unsigned(static_cast<uint64_t>(value));
    return add(make_integer(Type::kNegative, static_cast<uint64_t>(-(value + 1)) + 1));
  }
  bool number_float(double value, const std::string& /*digits*/) {
    Node node = make(Type::kDouble);
    node.real = value;
    return add(std::move(node));
  }
  bool string(std::string& value) {
    Node node = make(Type::kString);
    node.text = strings_.keep(std::move(value));
    return add(std::move(node));
  }
  bool binary(std::vector<uint8_t>& /*value*/) { return refuse("binary values are not JSON"); }
  bool start_object(size_t /*size*/) { return open(Type::kObject); }
  bool start_array(size_t /*size*/) { return open(Type::kArray); }
  bool key(std::string& name) {
    key_ = strings_.intern(std::move(name));
    return true;
  }
  bool end_object() { return keys_differ(open_.back()) && close(); }
  bool end_array() { return close(); }
  template <class Exception>
  bool parse_error(size_t /*position*/, const std::string& token, const Exception& /*error*/) {
    return refuse(token.empty() ? "not JSON: the text ends too early"
                                : fmt::format("not JSON, near '{}'", token.substr(0, 40)));
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] Node take_root() { return std::move(root_); }

 private:
  Node make(Type type) {
    Node node;
    node.type = type;
    node.line = line_;
    node.key = std::exchange(key_, {});
    return node;
  }
  Node make_integer(Type type, uint64_t value) {
    Node node = make(type);
    node.integer = value;
    return node;
  }
  bool add(Node node) {
    (open_.empty() ? root_ : open_.back().children.emplace_back()) = std::move(node);
    return true;
  }
  bool open(Type type) {
    if (open_.size() == kMaxDepth) return refuse(fmt::format("more than {} levels", kMaxDepth));
    open_.push_back(make(type));
    return true;
  }
  bool close() {
    Node node = std::move(open_.back());
    open_.pop_back();
    return add(std::move(node));
  }
  bool keys_differ(const Node& object) {
    std::vector<std::string_view> keys;
    keys.reserve(object.children.size());
    for (const Node& child : object.children) keys.push_back(child.key);
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    return twice == keys.end() || refuse(fmt::format("field '{}' is given twice", *twice));
  }
  bool refuse(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
    return false;
  }

  Strings& strings_;
  const uint32_t& line_;
  std::string_view key_;
  Node root_;
  std::vector<Node> open_;
  std::string problem_;
};

Result<std::unique_ptr<JsonDocument>> JsonDocument::parse(std::string_view text,
                                                          std::string source) {
  std::unique_ptr<JsonDocument> document(new JsonDocument(std::move(source)));
  uint32_t line = 1;
  TreeBuilder builder(*document->strings_, line);
  const LineIterator begin(text.data(), &line);
  const LineIterator end(text.data() + text.size(), &line);
  if (!nlohmann::json::sax_parse(begin, end, &builder)) {
    return Error{ErrorCode::kMalformed,
                 fmt::format("{}:{}: {}", document->source_, line, builder.problem())};
  }
  *document->root_ = builder.take_root();
  return document;
}

JsonDocument::JsonDocument(std::string source)
    : source_(std::move(source)),
      strings_(std::make_unique<Strings>()),
      root_(std::make_unique<JsonValue::Node>()) {}

JsonDocument::~JsonDocument() = default;

JsonValue JsonDocument::root() { return {this, root_.get()}; }

Status JsonDocument::status() const {
  if (error_) return *error_;
  return {};
}

JsonValue JsonValue::optional(std::string_view name) const {
  if (node_ == nullptr) return *this;
  if (node_->type != Node::Type::kObject) {
    fail("must be an object");
    return {document_, nullptr};
  }
  for (const Node& child : node_->children) {
    if (child.key == name) return {document_, &child};
  }
  return {document_, nullptr};
}

JsonValue JsonValue::field(std::string_view name) const {
  const JsonValue value = optional(name);
  if (!value.exists() && exists()) fail(fmt::format("field '{}' is missing", name));
  return value;
}

size_t JsonValue::size() const {
  if (node_ == nullptr) return 0;
  if (node_->type == Node::Type::kArray) return node_->children.size();
  fail("must be an array");
  return 0;
}

JsonValue JsonValue::at(size_t index) const {
  if (index < size()) return {document_, &node_->children[index]};
  if (exists()) fail(fmt::format("has no element {}", index));
  return {document_, nullptr};
}

void JsonValue::only_fields(std::initializer_list<std::string_view> names) const {
  for (const auto& [name, value] : fields()) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    value.fail(fmt::format("unknown field; expected one of: {}", fmt::join(names, ", ")));
  }
}

std::vector<std::pair<std::string_view, JsonValue>> JsonValue::fields() const {
  std::vector<std::pair<std::string_view, JsonValue>> result;
  if (node_ == nullptr) return result;
  if (node_->type != Node::Type::kObject) {
    fail("must be an object");
    return result;
  }
  result.reserve(node_->children.size());
  for (const Node& child : node_->children) {
    result.emplace_back(child.key, JsonValue(document_, &child));
  }
  return result;
}

uint64_t JsonValue::uint64(uint64_t min, uint64_t max) const {
  if (node_ == nullptr) return 0;
  const bool fits =
      node_->type == Node::Type::kUint && node_->integer >= min && node_->integer <= max;
  if (fits) return node_->integer;
  fail(fmt::format("must be a whole number from {} to {}", min, max));
  return 0;
}

uint32_t JsonValue::uint32(uint32_t min, uint32_t max) const {
  return static_cast<uint32_t>(uint64(min, max));
}

double JsonValue::number(double min, double max) const {
  if (node_ == nullptr) return 0;
  double value = 0;
  bool is_number = true;
  switch (node_->type) {
    case Node::Type::kUint: value = static_cast<double>(node_->integer); break;
    case Node::Type::kNegative: value = -static_cast<double>(node_->integer); break;
    case Node::Type::kDouble: value = node_->real; break;
    case Node::Type::kNull:
    case Node::Type::kBool:
    case Node::Type::kString:
    case Node::Type::kArray:
    case Node::Type::kObject: is_number = false;
  }
  if (is_number && value >= min && value <= max) return value;
  fail(fmt::format("must be a number from {} to {}", min, max));
  return 0;
}

std::string_view JsonValue::string() const {
  if (node_ == nullptr) return {};
  if (node_->type == Node::Type::kString) return node_->text;
  fail("must be a string");
  return {};
}

bool JsonValue::boolean() const {
  if (node_ == nullptr) return false;
  if (node_->type == Node::Type::kBool) return node_->integer != 0;
  fail("must be true or false");
  return false;
}

bool JsonValue::is_string() const { return node_ != nullptr && node_->type == Node::Type::kString; }

bool JsonValue::is_array() const { return node_ != nullptr && node_->type == Node::Type::kArray; }

bool JsonValue::is_object() const { return node_ != nullptr && node_->type == Node::Type::kObject; }

void JsonValue::fail(std::string_view what) const {
  TUTTI_CHECK(node_ != nullptr, "a missing value has no line to complain about");
  if (document_->error_) return;
  const std::string where = node_->key.empty() ? "" : fmt::format("'{}': ", node_->key);
  document_->error_ = std::make_unique<Error>(
      Error{ErrorCode::kMalformed,
            fmt::format("{}:{}: {}{}", document_->source_, node_->line, where, what)});
}

std::string json_quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace tutti::base
