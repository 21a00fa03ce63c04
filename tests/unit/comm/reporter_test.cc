// Reports of real ranks that wait.
#include "comm/diagnosis/reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "comm/diagnosis/findings.h"
#include "comm/diagnosis/record_files.h"
#include "tests/unit/comm/ranks.h"

namespace tutti::comm {
namespace {

using test::Ranks;
using testing::AllOf;
using testing::HasSubstr;

// Of nodes that are made while it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

// The last report of each rank.
class Reports {
 public:
  void put(uint32_t rank, std::string_view report) {
    const std::lock_guard lock(mutex_);
    last_[rank] = report;
  }
  // Without its times, which differ.
  std::string of(uint32_t rank) {
    const std::lock_guard lock(mutex_);
    return std::regex_replace(last_[rank], std::regex("[0-9.]+ (ms|s)\\b"), "TIME");
  }
  // Reports come again and again; the first ones may not have seen all yet.
  void await_agreement(uint32_t num_ranks, const std::string& text) {
    bool agree = false;
    // Liveness: ranks whose operations stand still report; ctest's time limit ends a failed test.
    while (!agree) {
      agree = of(0).find(text) != std::string::npos;
      for (uint32_t r = 1; r < num_ranks; ++r) agree &= of(r) == of(0);
      std::this_thread::yield();
    }
  }

 private:
  std::mutex mutex_;
  std::map<uint32_t, std::string> last_;
};

std::vector<std::optional<Board>> boards_of(Ranks& ranks) {
  std::vector<std::optional<Board>> boards;
  for (uint32_t r = 0; r < ranks.size(); ++r) {
    boards.push_back(read_board(ranks.node(0).engine.endpoint().board(Rank{r})));
  }
  return boards;
}

TEST(Reports, OfARingAreTheSameOnEveryRankInIt) {
  const Variable often("TUTTI_REPORT_AFTER", "0.05");
  Reports reports;
  Ranks ranks(3, [&](uint32_t rank, std::string_view text) { reports.put(rank, text); });
  std::vector<float> data[3][2];
  for (auto& pair : data) pair[0] = pair[1] = std::vector<float>(2000, 1);
  const auto issue = [&](uint32_t rank, size_t which) {
    return ranks.comm(rank).all_reduce(std::span(data[rank][which]),
                                       {.name = which == 0 ? "a" : "b"});
  };
  std::thread first([&] { EXPECT_TRUE(issue(0, 0).wait()); });
  std::thread second([&] { EXPECT_TRUE(issue(1, 1).wait()); });
  Work a = issue(2, 0);
  Work b = issue(2, 1);
  reports.await_agreement(3, "all_reduce \"b\" of 2000 float32, sum: no progress");
  EXPECT_THAT(reports.of(0),
              AllOf(HasSubstr("all_reduce \"a\" of 2000 float32, sum: no progress for TIME\n"
                              "    called by ranks 0, 2\n    not called by rank 1\n"
                              "      rank 1 has waited in all_reduce \"b\" for TIME"),
                    HasSubstr("ring: rank 0 waits in all_reduce \"a\" for rank 1, rank 1 waits in "
                              "all_reduce \"b\" for rank 0\n")));
  // Other threads of the ranks call what is missing.
  Work rest[] = {issue(0, 1), issue(1, 0)};
  first.join();
  second.join();
  for (Work* work : {&a, &b, &rest[0], &rest[1]}) EXPECT_TRUE(work->wait());
}

TEST(Boards, ShowWhatRanksAreInAndWhatTheyDidLast) {
  const Variable often("TUTTI_REPORT_AFTER", "0.04");  // boards come a quarter of it
  Ranks ranks(2);
  Work done[] = {ranks.comm(0).barrier({.name = "start"}),
                 ranks.comm(1).barrier({.name = "start"})};
  for (Work& work : done) ASSERT_TRUE(work.wait());
  std::vector<int32_t> data(7);
  Work lonely = ranks.comm(0).all_reduce(std::span(data), {.name = "lonely"});
  // Liveness: rank 0 has an operation under way, so its board comes; ctest's limit ends a failure.
  while (true) {
    const auto boards = boards_of(ranks);
    if (boards[0] && boards[0]->num_shown == 1 && boards[0]->num_recent == 1) break;
    std::this_thread::yield();
  }
  const Board board = *boards_of(ranks)[0];
  EXPECT_EQ(board.under_way[0].name.view(), "lonely");
  EXPECT_EQ(board.under_way[0].signature.count, 7u);
  EXPECT_EQ(board.under_way[0].is_waited, 0);
  EXPECT_EQ(board.recent[0].name.view(), "start");
  EXPECT_EQ(board.recent[0].outcome, engine::Outcome::kDone);
  EXPECT_GE(board.recent[0].ended_ns, board.recent[0].issued_ns);
  EXPECT_LE(board.recent[0].ended_ns, base::now_ns());
  EXPECT_EQ(board.num_issued, 2u);
  std::vector<int32_t> others_data(7);
  Work other = ranks.comm(1).all_reduce(std::span(others_data), {.name = "lonely"});
  EXPECT_TRUE(other.wait());
  EXPECT_TRUE(lonely.wait());
}

TEST(Reports, ComeWhenADaemonStaysForWhatGraphsOrKernelsBegan) {
  const Variable often("TUTTI_REPORT_AFTER", "0.05");
  Reports reports;
  Ranks ranks(2, [&](uint32_t rank, std::string_view text) { reports.put(rank, text); });
  BoardEntry facts;
  facts.id = 1;
  facts.name.assign("grads");
  Elsewhere& elsewhere = ranks.node(0).elsewhere;
  elsewhere.prepared(facts, [] { return Elsewhere::Seen{.launch = 3}; });
  ranks.node(0).notice();
  // Liveness: the rank reports; ctest's time limit ends a failed test.
  while (reports.of(0).empty()) std::this_thread::yield();
  EXPECT_THAT(reports.of(0), HasSubstr("graphs or kernels began make no progress\n"
                                       "  graphs or kernels began something that is not over on "
                                       "rank 0, without a pause for TIME"));
  EXPECT_EQ(reports.of(1), "");
  elsewhere.unprepared(1);
}

// Each launch ends when nothing is under way.
TEST(Boards, SaySinceWhenADaemonIsThere) {
  Ranks ranks(2);
  Elsewhere elsewhere;
  Publisher publisher(ranks.node(0).engine, elsewhere);
  uint32_t launch = 3;
  elsewhere.prepared({}, [&] { return Elsewhere::Seen{.launch = launch}; });
  const Board first = publisher.publish();
  EXPECT_EQ(first.here_since_ns, first.published_ns);
  EXPECT_EQ(publisher.publish().here_since_ns, first.published_ns);
  launch = 4;
  const Board second = publisher.publish();
  EXPECT_EQ(second.here_since_ns, second.published_ns);
  launch = 0;
  EXPECT_EQ(publisher.publish().here_since_ns, 0u);
}

TEST(FlightRecorder, LeavesAFileWhenAnOperationFails) {
  const std::string folder = testing::TempDir() + "tutti_flight_test" + std::to_string(getpid());
  const Variable there("TUTTI_FLIGHT_RECORDER", folder.c_str());
  Ranks ranks(2);
  std::vector<float> data(10);
  Work works[] = {ranks.comm(0).all_reduce(std::span(data).first(9), {.name = "grad"}),
                  ranks.comm(1).all_reduce(std::span(data), {.name = "grad"})};
  for (Work& work : works) EXPECT_FALSE(work.wait().ok());
  for (const char* const rank : {"0", "1"}) {
    const std::string text = base::read_file(folder + "/flight-" + rank + ".json").value();
    EXPECT_THAT(text, AllOf(HasSubstr(std::string("\"rank\":") + rank),
                            HasSubstr("\"reason\":\"ranks disagree"),
                            HasSubstr("\"what\":\"all_reduce \\\"grad\\\" of"),
                            HasSubstr("\"state\":\"failed\"")));
  }
}

TEST(FlightRecorder, ForgetsTheOldest) {
  Ranks ranks(1);
  for (int i = 0; i < 1100; ++i) ASSERT_TRUE(ranks.comm(0).barrier().wait());
  ranks.node(0).engine.inspect([](const auto& under_way, const engine::FlightRecorder& recorder) {
    EXPECT_EQ(under_way.size(), 0u);
    EXPECT_EQ(recorder.num_issued(), 1100u);
    EXPECT_EQ(recorder.first(), 1100u - engine::FlightRecorder::kRecords);
    EXPECT_EQ(recorder.at(1099).number, 1099u);
    EXPECT_EQ(recorder.at(recorder.first()).number, recorder.first());
    EXPECT_EQ(recorder.at(1099).outcome, engine::Outcome::kDone);
  });
}

}  // namespace
}  // namespace tutti::comm
