#include "tools/launch/rank_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti::tools::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> lines_of(RankEnvironment& environment) {
  std::vector<std::string> lines;
  for (char* const* line = environment.pointers(); *line != nullptr; ++line) {
    lines.emplace_back(*line);
  }
  return lines;
}

TEST(RankEnvironment, ChangesReplaceAndAddAndTheLastCounts) {
  std::string a = "A=1";
  std::string ab = "AB=2";
  char* const before[] = {a.data(), ab.data(), nullptr};
  RankEnvironment environment(before, {"A=3", "C=x=y", "A=", "D=1"});
  environment.set("AB", "5");
  EXPECT_THAT(lines_of(environment), ElementsAre("A=", "AB=5", "C=x=y", "D=1"));
  EXPECT_EQ(a, "A=1");
}

TEST(RankEnvironment, SettingAgainReplaces) {
  char* const before[] = {nullptr};
  RankEnvironment environment(before, {});
  environment.set("R", "0");
  environment.set("R", "1");
  EXPECT_THAT(lines_of(environment), ElementsAre("R=1"));
}

TEST(CheckChange, WantsANameThatIsNotOurs) {
  EXPECT_TRUE(check_change("A=b").ok());
  EXPECT_TRUE(check_change("A=").ok());
  EXPECT_THAT(check_change("A").error().message, HasSubstr("NAME=VALUE"));
  EXPECT_THAT(check_change("=b").error().message, HasSubstr("NAME=VALUE"));
  EXPECT_THAT(check_change("TUTTI_JOB_ID=1").error().message, HasSubstr("TUTTI_JOB_ID"));
}

}  // namespace
}  // namespace tutti::tools::launch
