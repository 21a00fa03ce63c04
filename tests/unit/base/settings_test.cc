#include "base/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace tutti::base {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Settings settings_of(const std::map<std::string, std::string>& variables) {
  return read_settings([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(Settings, HaveDefaultsWhenNothingIsSet) {
  const Settings settings = settings_of({});
  EXPECT_EQ(settings.debug, LogLevel::kNone);
  EXPECT_TRUE(settings.progress_thread);
  EXPECT_EQ(settings.report_after_ns, 10'000'000'000u);
  EXPECT_THAT(settings.flight_recorder, IsEmpty());
  EXPECT_THAT(settings.trace, IsEmpty());
  EXPECT_THAT(settings.complaints, IsEmpty());
}

TEST(Settings, AreReadFromTheEnvironment) {
  const Settings settings = settings_of({{"TUTTI_DEBUG", "info"},
                                         {"TUTTI_PROGRESS_THREAD", "0"},
                                         {"TUTTI_REPORT_AFTER", "0.25"},
                                         {"TUTTI_FLIGHT_RECORDER", "/a"},
                                         {"TUTTI_TRACE", "/b"}});
  EXPECT_EQ(settings.debug, LogLevel::kInfo);
  EXPECT_FALSE(settings.progress_thread);
  EXPECT_EQ(settings.report_after_ns, 250'000'000u);
  EXPECT_EQ(settings.flight_recorder, "/a");
  EXPECT_EQ(settings.trace, "/b");
  EXPECT_THAT(settings.complaints, IsEmpty());
}

TEST(Settings, ThatMeanNothingArePassedOverAndNamed) {
  const Settings settings = settings_of(
      {{"TUTTI_DEBUG", "LOUD"}, {"TUTTI_PROGRESS_THREAD", "yes"}, {"TUTTI_REPORT_AFTER", "-1"}});
  EXPECT_EQ(settings.debug, LogLevel::kNone);
  EXPECT_TRUE(settings.progress_thread);
  EXPECT_EQ(settings.report_after_ns, 10'000'000'000u);
  EXPECT_THAT(settings.complaints,
              ElementsAre(HasSubstr("TUTTI_DEBUG='LOUD' is not NONE, VERSION, WARN, INFO or TRACE"),
                          HasSubstr("TUTTI_PROGRESS_THREAD='yes' is not 0 or 1"),
                          HasSubstr("TUTTI_REPORT_AFTER='-1' is not a number of seconds")));
}

TEST(Settings, OfWorkersAreWithinWhatADaemonHas) {
  EXPECT_EQ(settings_of({}).gpu_workers, 0u);
  EXPECT_EQ(settings_of({{"TUTTI_GPU_WORKERS", "64"}}).gpu_workers, 64u);
  for (const char* const text : {"0", "65", "-1", "4x", ""}) {
    const Settings settings = settings_of({{"TUTTI_GPU_WORKERS", text}});
    EXPECT_EQ(settings.gpu_workers, 0u) << text;
    EXPECT_THAT(settings.complaints, ElementsAre(HasSubstr("is not a number from 1 to 64")));
  }
}

TEST(Settings, OfSecondsMustBeNumbers) {
  for (const char* const text : {"", "10s", "nan", "inf", "1e30", "ten"}) {
    EXPECT_EQ(settings_of({{"TUTTI_REPORT_AFTER", text}}).complaints.size(), 1u) << text;
  }
}

TEST(LogLevels, AreReadInAnyCaseAndIncludeThoseBelow) {
  EXPECT_EQ(parse_log_level("Trace"), LogLevel::kTrace);
  EXPECT_EQ(parse_log_level("WARN"), LogLevel::kWarn);
  EXPECT_EQ(parse_log_level("3"), std::nullopt);
  set_log_level(LogLevel::kInfo);
  EXPECT_TRUE(logs(LogLevel::kWarn));
  EXPECT_TRUE(logs(LogLevel::kInfo));
  EXPECT_FALSE(logs(LogLevel::kTrace));
  set_log_level(LogLevel::kNone);
  EXPECT_FALSE(logs(LogLevel::kVersion));
}

TEST(Log, LinesSayWhoSpeaks) {
  set_log_level(LogLevel::kWarn);
  testing::internal::CaptureStderr();
  log(LogLevel::kWarn, 3, "something");
  log(LogLevel::kInfo, 3, "nothing");
  const std::string text = testing::internal::GetCapturedStderr();
  set_log_level(LogLevel::kNone);
  EXPECT_THAT(text, testing::MatchesRegex("\\[.*:[0-9]+\\] rank 3 tutti WARN something\n"));
}

}  // namespace
}  // namespace tutti::base
