#include "engine/cpu/short_name.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

namespace tutti::engine {
namespace {

std::string_view printable(std::string_view bytes, ShortName& name) {
  name.assign(bytes);
  name.make_printable();
  return name.view();
}

TEST(ShortName, KeepsTextAndReplacesWhatIsNone) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"layer3.weight", "layer3.weight"},
      {"größe → 😀", "größe → 😀"},
      {"a\x1b[2Jb\n", "a?[2Jb?"},
      {"\x7f\xff\xfe", "???"},
      {"\xc3", "?"},                 // cut off
      {"\xc3(", "?("},               // not followed as it should be
      {"\xc0\xaf", "??"},            // longer than need be
      {"\xe0\x80\xaf", "???"},       // the same
      {"\xed\xa0\x80", "???"},       // half of a pair
      {"\xf4\x90\x80\x80", "????"},  // beyond the last letter
      {"\xc2\x9b"
       "2J",
       "??2J"},  // a control character of two bytes
  };
  for (const auto& [given, wanted] : cases) {
    ShortName name;
    EXPECT_EQ(printable(given, name), wanted);
  }
}

TEST(ShortName, OfALongNameHasBeginningAndEndAndNoHalfLetters) {
  std::string given;
  for (int i = 0; i < 40; ++i) given += "ö";
  ShortName name;
  name.assign("x" + given);
  const std::string_view shown = name.view();
  EXPECT_LE(shown.size(), ShortName::kMost);
  EXPECT_TRUE(shown.starts_with("xöööööööööö"));
  EXPECT_NE(shown.find("..."), shown.npos);
  EXPECT_TRUE(shown.ends_with("öööööööööö"));
  ShortName again = name;
  again.make_printable();
  EXPECT_EQ(again.view(), shown);
}

// As a mad rank may have written it.
TEST(ShortName, OfAnySizeStaysWithinItsBounds) {
  ShortName name;
  name.size = 255;
  name.text.fill('\xff');
  name.make_printable();
  EXPECT_EQ(name.view(), std::string(ShortName::kMost, '?'));
}

}  // namespace
}  // namespace tutti::engine
