#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace tutti::base {
namespace {

// Presets are tested at the same time.
std::string temporary(const char* name) {
  return testing::TempDir() + name + std::to_string(getpid());
}

TEST(File, ReadsBackWhatItWrote) {
  const std::string path = temporary("tutti_file_test");
  const std::string text("zero\0inside\n", 12);
  ASSERT_TRUE(write_file(path, text).ok());
  EXPECT_EQ(read_file(path).value(), text);
  std::filesystem::remove(path);
}

TEST(File, SaysWhichFileIsMissing) {
  const auto result = read_file("/nowhere/at/all");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(result.error().message, testing::HasSubstr("/nowhere/at/all"));
}

TEST(File, LeavesNothingBehindWhenItCannotWrite) {
  EXPECT_FALSE(write_file("/nowhere/at/all", "text").ok());
}

TEST(File, RefusesToReadAFolder) { EXPECT_FALSE(read_file(testing::TempDir()).ok()); }

TEST(File, DoesNotReplaceADevice) {
  ASSERT_TRUE(write_file("/dev/null", "text").ok());
  struct stat status {};
  ASSERT_EQ(stat("/dev/null", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

}  // namespace
}  // namespace tutti::base
