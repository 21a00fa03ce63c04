#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "trace/trace.h"

namespace tutti::trace {
namespace {

using nlohmann::json;

// Rank 0 sends to rank 1, whose clock is 2 ns behind.
Trace one_message() {
  Trace trace;
  trace.schedule = "direct";
  trace.num_ranks = 2;
  trace.ticks_per_ns = 1000;
  trace.clocks = {{.rank = 1, .offset = 2000, .error = 0}};
  Event send{.begin = 1000, .end = 1000, .bytes = 64, .rank = 0, .lane = 3, .step = 4};
  send.op = Op::kSend;
  Event recv{.begin = 1500, .end = 9001, .bytes = 64, .rank = 1, .lane = 0, .step = 7};
  recv.op = Op::kRecv;
  recv.peer = 0;
  Event wait = recv;
  wait.kind = EventKind::kWait;
  wait.begin = 500;
  wait.end = 1500;
  Event message{.begin = 1000, .end = 9001, .bytes = 64, .rank = 0, .lane = 3, .step = 4};
  message.kind = EventKind::kMessage;
  message.peer = 1;
  message.peer_lane = 0;
  message.peer_step = 7;
  trace.events = {send, wait, recv, message};
  return trace;
}

std::vector<json> with_phase(const json& chrome, const std::string& phase) {
  std::vector<json> found;
  for (const json& record : chrome.at("traceEvents")) {
    if (record.at("ph") == phase) found.push_back(record);
  }
  return found;
}

TEST(Chrome, ShowsStepsAndWaitsAsSlicesOfRankAndLane) {
  const json chrome = json::parse(to_chrome(one_message()));
  const std::vector<json> slices = with_phase(chrome, "X");
  ASSERT_EQ(slices.size(), 3u);
  EXPECT_EQ(slices[0].at("name"), "send");
  EXPECT_EQ(slices[0].at("pid"), 0);
  EXPECT_EQ(slices[0].at("tid"), 3);
  EXPECT_EQ(slices[1].at("name"), "wait: recv");
  EXPECT_EQ(slices[2].at("args").at("step"), 7);
  EXPECT_EQ(slices[2].at("args").at("peer"), 0);
  EXPECT_EQ(slices[2].at("args").at("bytes"), 64);
}

TEST(Chrome, WritesTimesInMicrosecondsOfTheCommonClock) {
  const std::string text = to_chrome(one_message());
  EXPECT_NE(text.find("\"ts\":0.003500,\"dur\":0.007501"), std::string::npos) << text;
}

TEST(Chrome, DrawsAMessageFromTheSendingSliceToTheTakingOne) {
  const json chrome = json::parse(to_chrome(one_message()));
  const std::vector<json> starts = with_phase(chrome, "s");
  const std::vector<json> ends = with_phase(chrome, "f");
  ASSERT_EQ(starts.size(), 1u);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(starts[0].at("id"), ends[0].at("id"));
  EXPECT_EQ(starts[0].at("pid"), 0);
  EXPECT_EQ(starts[0].at("tid"), 3);
  EXPECT_EQ(ends[0].at("pid"), 1);
  EXPECT_EQ(ends[0].at("bp"), "e");
}

TEST(Chrome, DrawsNoArrowToASliceThatWasLost) {
  Trace trace = one_message();
  trace.events.erase(trace.events.begin());
  const json chrome = json::parse(to_chrome(trace));
  EXPECT_TRUE(with_phase(chrome, "s").empty());
  EXPECT_TRUE(with_phase(chrome, "f").empty());
}

TEST(Chrome, NamesProcessesAndThreads) {
  const json chrome = json::parse(to_chrome(one_message()));
  std::vector<std::string> names;
  for (const json& record : with_phase(chrome, "M")) {
    if (record.at("name") != "process_sort_index") names.push_back(record.at("args").at("name"));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"rank 0", "rank 1", "lane 3", "lane 0"}));
}

TEST(Chrome, LeavesWhatNeverEndedOpen) {
  Trace trace = one_message();
  trace.events[2].end = kStillOpen;
  const json chrome = json::parse(to_chrome(trace));
  const std::vector<json> open = with_phase(chrome, "B");
  ASSERT_EQ(open.size(), 1u);
  EXPECT_FALSE(open[0].contains("dur"));
}

}  // namespace
}  // namespace tutti::trace
