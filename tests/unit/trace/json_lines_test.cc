#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/trace.h"

namespace tutti::trace {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Trace sample() {
  Trace trace;
  trace.source = Source::kEngine;
  trace.schedule = "ring \"quoted\" \\ ü";
  trace.num_ranks = 4;
  trace.ticks_per_ns = 1;
  trace.num_lost = 17;
  trace.clocks = {{.rank = 3, .offset = -250, .error = 12}};
  trace.calls = {{1, 9, -6, 11, "all_reduce 'grad' of 7 float32", 0xfedcba9876543210},
                 {2, 0, 5, kStillOpen, "", 0}};
  Event step{.begin = -5, .end = 10, .bytes = 64, .rank = 1, .lane = 2, .step = 3, .call = 9};
  step.op = Op::kRecvReduceCopySend;
  Event open = step;
  open.end = kStillOpen;
  open.kind = EventKind::kWait;
  open.peer = 0;
  Event message = step;
  message.kind = EventKind::kMessage;
  message.peer = 3;
  message.peer_lane = 5;
  message.peer_step = UINT32_MAX;
  message.bytes = UINT64_MAX;
  trace.events = {step, open, message};
  return trace;
}

constexpr const char* kHeader =
    R"({"tutti_trace":2,"source":"simulator","schedule":"x","ranks":2,"ticks_per_ns":1,"lost":0})"
    "\n";

std::string error_of(const std::string& text) {
  const Result<Trace> result = parse_json_lines(text, "t.jsonl");
  if (result) return "no error";
  EXPECT_EQ(result.error().code, ErrorCode::kMalformed);
  return result.error().message;
}

TEST(JsonLines, ReadBackWhatWasWritten) {
  const Trace trace = sample();
  const Result<Trace> again = parse_json_lines(to_json_lines(trace), "t.jsonl");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, trace);
}

TEST(JsonLines, AreOneLineForTheHeaderEachClockEachCallAndEachEvent) {
  const std::string text = to_json_lines(sample());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 7);
  EXPECT_THAT(
      text,
      HasSubstr(
          "\n[\"call\",1,9,-6,11,\"all_reduce 'grad' of 7 float32\",\"fedcba9876543210\"]\n"));
  EXPECT_THAT(text, HasSubstr("\n[\"clock\",3,-250,12]\n"));
  EXPECT_THAT(text,
              HasSubstr("\n[\"step\",\"recv_reduce_copy_send\",-5,10,1,2,3,null,0,0,64,9]\n"));
  EXPECT_THAT(text, HasSubstr("[\"wait\",\"recv_reduce_copy_send\",-5,null,1,2,3,0,"));
}

TEST(JsonLines, OfAnEmptyTraceAreItsHeader) {
  Trace trace;
  trace.num_ranks = 1;
  const Result<Trace> again = parse_json_lines(to_json_lines(trace), "t.jsonl");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, trace);
}

TEST(JsonLines, RefuseAHeaderThatIsNotOurs) {
  EXPECT_THAT(error_of(""), HasSubstr("t.jsonl:1:"));
  EXPECT_THAT(error_of("\n"), HasSubstr("t.jsonl:1"));
  EXPECT_THAT(error_of("[1]\n"), HasSubstr("t.jsonl:1"));
  EXPECT_THAT(error_of(R"({"tutti_trace":1,"source":"engine","schedule":"","ranks":1,)"
                       R"("ticks_per_ns":1,"lost":0})"),
              AllOf(HasSubstr("version 1 is not known, only 2"), HasSubstr("record the run anew")));
  EXPECT_THAT(error_of(R"({"tutti_trace":2,"source":"dream","schedule":"","ranks":1,)"
                       R"("ticks_per_ns":1,"lost":0})"),
              HasSubstr("simulator"));
  EXPECT_THAT(error_of(R"({"tutti_trace":2,"source":"engine","schedule":"","ticks_per_ns":1})"),
              HasSubstr("ranks"));
}

TEST(JsonLines, NameTheLineThatIsWrong) {
  const std::string good = R"(["step","copy",0,1,0,0,0,null,0,0,0,0])"
                           "\n";
  const auto third = [&](const char* line) { return error_of(kHeader + good + line); };
  EXPECT_THAT(third("oops"), HasSubstr("t.jsonl:3: expected '['"));
  EXPECT_THAT(third("[\"step"), HasSubstr("t.jsonl:3: a text without its closing quote"));
  EXPECT_THAT(third(R"(["jump","copy",0,1,0,0,0,null,0,0,0,0])"), HasSubstr("'jump'"));
  EXPECT_THAT(third(R"(["step","jump",0,1,0,0,0,null,0,0,0,0])"), HasSubstr("'jump'"));
  EXPECT_THAT(third(R"(["step","copy",1,0,0,0,0,null,0,0,0,0])"), HasSubstr("ends before"));
  EXPECT_THAT(third(R"(["step","copy",0,1,2,0,0,null,0,0,0,0])"), HasSubstr("'rank' is 2"));
  EXPECT_THAT(third(R"(["step","copy",0,1,0,0,0,2,0,0,0,0])"), HasSubstr("'peer' is 2"));
  EXPECT_THAT(third(R"(["step","copy",0,1,0,-1,0,null,0,0,0,0])"), HasSubstr("'lane'"));
  EXPECT_THAT(third(R"(["step","copy",0,1,0,0,4294967296,null,0,0,0,0])"), HasSubstr("'step'"));
  EXPECT_THAT(third(R"(["step","copy",0,1,0,0,0,null,0,0,0])"), HasSubstr("expected ','"));
  EXPECT_THAT(third(R"(["step","copy",0,1,0,0,0,null,0,0,0,0,0])"), HasSubstr("expected ']'"));
  EXPECT_THAT(third(R"(["step","copy",0,1,0,0,0,null,0,0,0,0] x)"), HasSubstr("follows"));
  EXPECT_THAT(third(R"(["clock",7,0,0])"), HasSubstr("'rank' is 7"));
  EXPECT_THAT(third(R"(["call",0,0,0,1,"barrier"])"), HasSubstr("expected ','"));
  EXPECT_THAT(third(R"(["call",0,0,0,1,"barrier","12"])"), HasSubstr("16 hexadecimal digits"));
  EXPECT_THAT(third(R"(["call",0,0,0,1,"barrier","000000000000000g"])"),
              HasSubstr("16 hexadecimal digits"));
}

TEST(JsonLines, MayHaveSpacesAndEmptyLines) {
  const std::string text =
      fmt::format("{}\n{}", kHeader, " [ \"step\" , \"copy\",0, 1,0,0,0, null ,0,0,0,0 ] \r\n\n");
  const Result<Trace> trace = parse_json_lines(text, "t.jsonl");
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->events.size(), 1u);
}

}  // namespace
}  // namespace tutti::trace
