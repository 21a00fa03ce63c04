#include "comm/plan_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>

#include "base/file.h"
#include "ir/schedule.h"
#include "plan/algorithm.h"
#include "topo/open.h"
#include "topo/variants.h"

namespace tutti::comm {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class PlanStoreTest : public testing::Test {
 protected:
  PlanStoreTest() : home_(fmt_home()) { fs::remove_all(home_); }
  ~PlanStoreTest() override { fs::remove_all(home_); }

  [[nodiscard]] std::string folder() const { return home_ + "/cache/tutti"; }
  [[nodiscard]] PlanStore store(uint64_t most_bytes = PlanStore::kMostBytes) const {
    return PlanStore(folder(), most_bytes);
  }
  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    for (const auto& entry : fs::directory_iterator(folder())) all.push_back(entry.path());
    return all;
  }

 private:
  static std::string fmt_home() {
    return testing::TempDir() + "/plan_store_test." + std::to_string(getpid());
  }

  std::string home_;
};

ir::Schedule ring(uint32_t num_ranks) {
  return plan::make({CollectiveKind::kAllReduce, num_ranks}, "ring", {}).value();
}

mode_t mode_of(const fs::path& path) {
  struct stat facts {};
  EXPECT_EQ(stat(path.c_str(), &facts), 0);
  return facts.st_mode & 0777;
}

TEST_F(PlanStoreTest, GivesBackWhatItWasGiven) {
  EXPECT_FALSE(store().find("key").value().has_value());
  ASSERT_TRUE(store().keep("key", ring(4), "facts").ok());
  const auto plan = store().find("key").value();
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->schedule.schedule(), ring(4));
  EXPECT_EQ(plan->facts, "facts");
  EXPECT_FALSE(store().find("another key").value().has_value());
  ASSERT_TRUE(store().keep("key", ring(5), "").ok());
  EXPECT_EQ(store().find("key").value()->schedule.schedule(), ring(5));
}

TEST_F(PlanStoreTest, NobodyElseMayReadIt) {
  ASSERT_TRUE(store().keep("key", ring(4), "").ok());
  EXPECT_EQ(mode_of(folder()), 0700u);
  ASSERT_EQ(files().size(), 1u);
  EXPECT_EQ(mode_of(files()[0]), 0600u);
}

TEST_F(PlanStoreTest, AFolderThatOthersMayEnterIsNotUsed) {
  ASSERT_TRUE(store().keep("key", ring(4), "").ok());
  fs::permissions(folder(), fs::perms(0755));
  EXPECT_THAT(store().find("key").error().message, HasSubstr("nobody else may enter"));
  EXPECT_THAT(store().keep("key", ring(4), "").error().message, HasSubstr("nobody else may enter"));
}

TEST_F(PlanStoreTest, ADamagedFileIsToldAndMadeAnew) {
  ASSERT_TRUE(store().keep("key", ring(4), "").ok());
  const std::string path = files()[0];
  const std::string text = base::read_file(path).value();
  for (const size_t at : {size_t{0}, text.find("key"), text.size() / 2, text.size() - 2}) {
    std::string damaged = text;
    damaged[at] = damaged[at] == 'x' ? 'y' : 'x';
    ASSERT_TRUE(base::write_file(path, damaged).ok());
    EXPECT_THAT(store().find("key").error().message, AllOf(HasSubstr(path), HasSubstr("damaged")));
  }
  for (const size_t size : {size_t{0}, size_t{7}, text.size() - 1}) {
    ASSERT_TRUE(base::write_file(path, text.substr(0, size)).ok());
    EXPECT_FALSE(store().find("key").ok());
  }
  ASSERT_TRUE(store().keep("key", ring(4), "").ok());
  EXPECT_TRUE(store().find("key").value().has_value());
}

TEST_F(PlanStoreTest, AnAnswerToAnotherQuestionIsNotTaken) {
  ASSERT_TRUE(store().keep("key", ring(4), "").ok());
  const fs::path first = files()[0];
  ASSERT_TRUE(store().keep("other", ring(5), "").ok());
  const fs::path second = files()[0] == first ? files()[1] : files()[0];
  fs::rename(second, first);
  EXPECT_THAT(store().find("key").error().message, HasSubstr("another question"));
}

TEST_F(PlanStoreTest, AWrongScheduleIsNotTakenHoweverWellItIsWrapped) {
  ir::Schedule wrong = ring(4);
  wrong.ranks[2].lanes[0].steps.pop_back();
  ASSERT_TRUE(store().keep("key", wrong, "").ok());
  EXPECT_THAT(store().find("key").error().message, HasSubstr("rank"));
}

TEST_F(PlanStoreTest, ALinkToAnotherFileIsNotFollowed) {
  ASSERT_TRUE(store().keep("key", ring(4), "").ok());
  const fs::path path = files()[0];
  fs::rename(path, folder() + "/elsewhere");
  fs::create_symlink(folder() + "/elsewhere", path);
  EXPECT_FALSE(store().find("key").ok());
}

TEST_F(PlanStoreTest, WhatWasNotAskedForTheLongestGoesFirst) {
  ASSERT_TRUE(store().keep("a", ring(4), "").ok());
  const uint64_t size = fs::file_size(files()[0]);
  ASSERT_TRUE(store(4 * size).keep("b", ring(4), "").ok());
  ASSERT_TRUE(store(4 * size).keep("c", ring(4), "").ok());
  const auto now = fs::file_time_type::clock::now();
  uint32_t age = 3;
  for (const char* const key : {"a", "b", "c"}) {
    ASSERT_TRUE(store().find(key).value().has_value());
    for (const fs::path& path : files()) {
      const bool is_it =
          base::read_file(path).value().find(std::string("\n") + key + "\n") != std::string::npos;
      if (is_it) fs::last_write_time(path, now - std::chrono::hours(age));
    }
    --age;
  }
  ASSERT_TRUE(store().find("a").value().has_value());  // asked for again
  ASSERT_TRUE(store(4 * size).keep("d", ring(4), "").ok());
  ASSERT_TRUE(store(4 * size).keep("e", ring(4), "").ok());
  EXPECT_TRUE(store().find("a").value().has_value());
  EXPECT_FALSE(store().find("b").value().has_value());
  EXPECT_TRUE(store().find("c").value().has_value());
  EXPECT_TRUE(store().find("d").value().has_value());
  EXPECT_TRUE(store().find("e").value().has_value());
}

TEST_F(PlanStoreTest, AQuarterOfAllRoomIsTheMostForOne) {
  ASSERT_TRUE(store(100).keep("key", ring(4), "").ok());
  EXPECT_FALSE(store(100).find("key").value().has_value());
}

TEST_F(PlanStoreTest, WithoutAFolderNothingIsKept) {
  const PlanStore none("");
  EXPECT_TRUE(none.keep("key", ring(4), "").ok());
  EXPECT_FALSE(none.find("key").value().has_value());
}

TEST(PlanKey, ChangesWithEverythingThatAPlanDependsOn) {
  const topo::Topology dgx = topo::open("dgx-1v").value();
  const PlanQuestion question{{CollectiveKind::kBroadcast, 8, 1}, "packed", 4, 1024, "1.0"};
  std::map<std::string, int> keys;
  ++keys[plan_key(question, dgx)];
  ++keys[plan_key(question, topo::without_link(dgx, "gpu0", "gpu3").value())];
  topo::Topology renamed = dgx;
  renamed.nodes[0].name = "another";
  ++keys[plan_key(question, renamed)];
  const auto with = [&](auto change) {
    PlanQuestion other = question;
    change(other);
    ++keys[plan_key(other, dgx)];
  };
  with([](PlanQuestion& q) { q.collective.kind = CollectiveKind::kReduce; });
  with([](PlanQuestion& q) { q.collective.root = 2; });
  with([](PlanQuestion& q) { q.algorithm = "blink"; });
  with([](PlanQuestion& q) { q.chunks = 5; });
  with([](PlanQuestion& q) { q.bytes = 1025; });
  with([](PlanQuestion& q) { q.maker = "1.1"; });
  EXPECT_EQ(keys.size(), 9u);
  EXPECT_EQ(plan_key(question, dgx), plan_key(question, topo::open("dgx-1v").value()));
}

TEST(CacheFolder, TheVariableComesFirstThenTheUsersFolder) {
  const auto folder = [](std::map<std::string, std::string> variables) {
    return cache_folder([&](const char* name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      if (found == variables.end()) return std::nullopt;
      return found->second;
    });
  };
  EXPECT_EQ(folder({}), "");
  EXPECT_EQ(folder({{"HOME", "/h"}}), "/h/.cache/tutti");
  EXPECT_EQ(folder({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}}), "/x/tutti");
  EXPECT_EQ(folder({{"HOME", "/h"}, {"XDG_CACHE_HOME", "relative"}}), "/h/.cache/tutti");
  EXPECT_EQ(folder({{"XDG_CACHE_HOME", "/x"}, {"TUTTI_CACHE", "/mine"}}), "/mine");
  EXPECT_EQ(folder({{"XDG_CACHE_HOME", "/x"}, {"TUTTI_CACHE", "none"}}), "");
}

}  // namespace
}  // namespace tutti::comm
