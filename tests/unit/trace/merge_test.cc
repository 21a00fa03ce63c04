#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "trace/trace.h"

namespace tutti::trace {
namespace {

using testing::HasSubstr;

Trace of_rank(uint32_t rank) {
  Trace trace;
  trace.source = Source::kEngine;
  trace.schedule = "run";
  trace.num_ranks = 2;
  trace.num_lost = rank + 1;
  trace.events = {{.begin = 5, .end = 6, .rank = rank}};
  trace.calls = {{rank, 0, 1, 9, "barrier #0"}};
  return trace;
}

TEST(Merge, KeepsWhatEveryRankSaw) {
  const Trace merged = merge({of_rank(0), of_rank(1)}).value();
  EXPECT_EQ(merged.num_lost, 3u);
  ASSERT_EQ(merged.events.size(), 2u);
  EXPECT_EQ(merged.events[1].rank, 1u);
  ASSERT_EQ(merged.calls.size(), 2u);
  EXPECT_EQ(merged.calls[1].rank, 1u);
}

TEST(Merge, RefusesTracesOfDifferentRuns) {
  Trace other = of_rank(1);
  other.num_ranks = 3;
  EXPECT_THAT(merge({of_rank(0), other}).error().message, HasSubstr("of different runs"));
  EXPECT_EQ(merge({}).error().code, ErrorCode::kInvalidArgument);
}

TEST(Merge, RefusesASecondTraceOfARank) {
  EXPECT_THAT(merge({of_rank(1), of_rank(0), of_rank(1)}).error().message,
              HasSubstr("two traces have rank 1"));
}

TEST(PlainText, HasNoMarksThatWouldNeedEscaping) {
  EXPECT_EQ(plain_text("a \"b\" \\ \n c"), "a 'b' ? ? c");
}

TEST(Calls, AreAsynchronousSlicesOfTheirRank) {
  Trace trace = of_rank(1);
  trace.calls.push_back({1, 1, 3, kStillOpen, "all_reduce 'x'"});
  const std::string chrome = to_chrome(trace);
  EXPECT_THAT(chrome, HasSubstr("{\"ph\":\"b\",\"name\":\"barrier #0\",\"cat\":\"call\",\"id\":"
                                "\"1.0\",\"pid\":1,\"tid\":0,\"ts\":0.001000}"));
  EXPECT_THAT(chrome, HasSubstr("{\"ph\":\"e\",\"name\":\"barrier #0\",\"cat\":\"call\",\"id\":"
                                "\"1.0\",\"pid\":1,\"tid\":0,\"ts\":0.009000}"));
  EXPECT_THAT(chrome, HasSubstr("\"name\":\"all_reduce 'x'\",\"cat\":\"call\",\"id\":\"1.1\""));
  EXPECT_THAT(chrome, testing::Not(HasSubstr("\"ph\":\"e\",\"name\":\"all_reduce 'x'\"")));
}

}  // namespace
}  // namespace tutti::trace
