#include "base/json_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tutti::base {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string error_of(std::string_view text) {
  auto document = JsonDocument::parse(text, "f.json");
  return document.ok() ? "" : document.error().message;
}

// Parses, makes one demand of the root, and returns what the document says of it.
template <class Demand>
std::string complaint(std::string_view text, Demand demand) {
  auto document = JsonDocument::parse(text, "f.json").value();
  demand(document->root());
  const Status status = document->status();
  return status.ok() ? "" : status.error().message;
}

TEST(JsonDocument, ReadsEveryKindOfValue) {
  auto document =
      JsonDocument::parse(R"({"n": 7, "x": -2.5, "s": "a\nb", "t": true, "l": [1, 2]})", "f")
          .value();
  const JsonValue root = document->root();
  EXPECT_EQ(root.field("n").uint64(0, 10), 7u);
  EXPECT_EQ(root.field("x").number(-3, 0), -2.5);
  EXPECT_EQ(root.field("s").string(), "a\nb");
  EXPECT_TRUE(root.field("t").boolean());
  EXPECT_EQ(root.field("l").size(), 2u);
  EXPECT_EQ(root.field("l").at(1).uint32(0, 9), 2u);
  EXPECT_FALSE(root.optional("none").exists());
  EXPECT_TRUE(document->status().ok());
}

TEST(JsonDocument, NamesTheLineOfBadSyntax) {
  EXPECT_THAT(error_of("{\n\"a\": 1,\n}"), StartsWith("f.json:3: not JSON"));
  EXPECT_THAT(error_of("{\"a\": [1, 2"), StartsWith("f.json:1: not JSON"));
  EXPECT_THAT(error_of(""), StartsWith("f.json:1: not JSON"));
}

TEST(JsonDocument, NamesTheLineOfAWrongValueEvenBeforeALineBreak) {
  EXPECT_EQ(complaint("{\n  \"a\": 12\n}", [](JsonValue v) { (void)v.field("a").string(); }),
            "f.json:2: 'a': must be a string");
  EXPECT_EQ(complaint("[\n1,\n22\n]", [](JsonValue v) { (void)v.at(1).string(); }),
            "f.json:3: must be a string");
}

TEST(JsonDocument, RefusesNumbersOutsideTheirRange) {
  for (const char* text : {"{\"a\": 0}", "{\"a\": 11}", "{\"a\": -1}", "{\"a\": 1.5}"}) {
    EXPECT_EQ(complaint(text, [](JsonValue v) { (void)v.field("a").uint64(1, 10); }),
              "f.json:1: 'a': must be a whole number from 1 to 10")
        << text;
  }
}

TEST(JsonDocument, RefusesAKeyGivenTwice) {
  EXPECT_EQ(error_of("{\"a\": 1,\n\"b\": 2, \"a\": 3}"), "f.json:2: field 'a' is given twice");
}

TEST(JsonDocument, RefusesDeepNesting) {
  EXPECT_THAT(error_of(std::string(100, '[')), HasSubstr("more than 64 levels"));
}

TEST(JsonDocument, RefusesAMisspeltField) {
  EXPECT_EQ(complaint("{\"rank\": 1}",
                      [](JsonValue v) {
                        v.only_fields({"ranks", "name"});
                      }),
            "f.json:1: 'rank': unknown field; expected one of: ranks, name");
}

TEST(JsonDocument, KeepsTheFirstUnmetDemand) {
  EXPECT_EQ(complaint("{}",
                      [](JsonValue v) {
                        (void)v.field("a").field("b").uint32(1, 2);
                        (void)v.field("c");
                      }),
            "f.json:1: field 'a' is missing");
}

}  // namespace
}  // namespace tutti::base
