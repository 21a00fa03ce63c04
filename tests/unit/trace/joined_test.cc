// What belongs together in a run: calls by their operation, messages by the steps at their ends.
#include "trace/joined.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tutti::trace {
namespace {

using testing::ElementsAre;

constexpr uint64_t kFirst = 0xa;
constexpr uint64_t kSecond = 0xb;

// Both ranks make two calls with the same words, in opposite orders; in each, rank 0 gives what
// rank 1 takes, with lanes and steps that differ.
Trace opposite_orders() {
  Trace trace;
  trace.source = Source::kEngine;
  trace.num_ranks = 2;
  trace.calls = {{0, 0, 0, 90, "broadcast", kFirst},
                 {0, 1, 5, 95, "broadcast", kSecond},
                 {1, 0, 2, 80, "broadcast", kSecond},
                 {1, 1, 4, 99, "broadcast", kFirst}};
  const auto step = [](Op op, uint32_t rank, uint32_t call, uint32_t at) {
    Event event{.begin = 10, .end = 20, .rank = rank, .lane = at, .step = at + 1};
    event.op = op;
    event.peer = 1 - rank;
    event.call = call;
    return event;
  };
  trace.events = {step(Op::kSend, 0, 0, 1), step(Op::kSend, 0, 1, 1), step(Op::kRecv, 1, 0, 7),
                  step(Op::kRecv, 1, 1, 7)};
  for (Event& event : trace.events) {
    event.peer_lane = event.rank == 0 ? 7 : 1;
    event.peer_step = event.peer_lane + 1;
  }
  return trace;
}

std::vector<std::pair<uint32_t, uint32_t>> calls_of(const std::vector<Delivery>& deliveries) {
  std::vector<std::pair<uint32_t, uint32_t>> calls;
  for (const auto& [sent, taken] : deliveries) calls.emplace_back(sent->call, taken->call);
  return calls;
}

TEST(Joined, CallsMeetByTheirOperationWhateverTheirWordsAndOrder) {
  const Trace trace = opposite_orders();
  const auto joined = join_calls(trace);
  ASSERT_EQ(joined.size(), 2u);
  for (const JoinedCall& one : joined) {
    ASSERT_EQ(one.calls.size(), 2u);
    EXPECT_EQ(one.calls[0]->operation, one.calls[1]->operation);
  }
}

TEST(Joined, AMessageIsOfTheStepsThatNameEachOther) {
  const Trace trace = opposite_orders();
  EXPECT_THAT(calls_of(deliveries_of(trace, join_calls(trace))),
              ElementsAre(std::pair(1u, 0u), std::pair(0u, 1u)));
}

TEST(Joined, WhatWasOverwrittenAtOneEndLeavesTheOthersAsTheyAre) {
  Trace trace = opposite_orders();
  trace.events.erase(trace.events.begin());
  EXPECT_THAT(calls_of(deliveries_of(trace, join_calls(trace))), ElementsAre(std::pair(1u, 0u)));
}

TEST(Joined, ACallThatOnlyOneRankRecordedHasNoMessages) {
  Trace trace = opposite_orders();
  trace.calls.erase(trace.calls.begin() + 2);
  EXPECT_THAT(calls_of(deliveries_of(trace, join_calls(trace))), ElementsAre(std::pair(0u, 1u)));
}

TEST(Joined, PerfettoGetsAnArrowForEveryMessageOfARealRun) {
  const auto chrome = nlohmann::json::parse(to_chrome(opposite_orders()));
  std::map<int, std::vector<std::string>> ends;  // by arrow: phase and rank
  for (const auto& record : chrome.at("traceEvents")) {
    const std::string phase = record.at("ph");
    if (phase != "s" && phase != "f") continue;
    ends[record.at("id").get<int>()].push_back(phase + record.at("pid").dump());
  }
  EXPECT_THAT(ends, ElementsAre(std::pair(0, std::vector<std::string>{"s0", "f1"}),
                                std::pair(1, std::vector<std::string>{"s0", "f1"})));
}

}  // namespace
}  // namespace tutti::trace
