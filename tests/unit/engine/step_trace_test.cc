// What is recorded of the steps of a real run: enough to say which step took what which other gave.
#include "engine/cpu/step_trace.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

#include "plan/algorithm.h"
#include "tests/support/cluster.h"

namespace tutti::test {
namespace {

using End = std::tuple<uint32_t, uint32_t, uint32_t>;  // rank, lane, step
using Message = std::pair<End, End>;                   // sender, taker

// As docs/reference/schedule.md has it: on a channel, the n-th message that a rank sends to another
// is the n-th that the other takes from it.
std::set<Message> messages_of(const ir::Schedule& schedule) {
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<End>> sent;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::vector<End>> taken;
  for (uint32_t r = 0; r < schedule.ranks.size(); ++r) {
    const auto& lanes = schedule.ranks[r].lanes;
    for (uint32_t l = 0; l < lanes.size(); ++l) {
      for (uint32_t s = 0; s < lanes[l].steps.size(); ++s) {
        const ir::Step& step = lanes[l].steps[s];
        const uint32_t channel = lanes[l].channel;
        if (ir::sends(step.kind)) sent[{r, step.send_peer.value, channel}].emplace_back(r, l, s);
        if (ir::receives(step.kind))
          taken[{step.recv_peer.value, r, channel}].emplace_back(r, l, s);
      }
    }
  }
  std::set<Message> messages;
  for (const auto& [connection, senders] : sent) {
    const auto& takers = taken.at(connection);
    for (size_t i = 0; i < senders.size(); ++i) messages.emplace(senders[i], takers[i]);
  }
  return messages;
}

// All that the ranks recorded of one collective, run by turns.
std::vector<trace::Event> recorded(const TestCollective::Spec& spec, uint32_t num_ranks) {
  Cluster cluster(num_ranks);
  TestCollective collective(spec, 7, first_ranks(num_ranks));
  for (uint32_t r = 0; r < num_ranks; ++r) cluster.engine(r).start_trace();
  for (uint32_t r = 0; r < num_ranks; ++r) {
    EXPECT_TRUE(cluster.engine(r).call(collective.request(r), 1));
  }
  for (int turn = 0; turn < 500; ++turn) {
    for (uint32_t r = 0; r < num_ranks; ++r) cluster.engine(r).progress();
  }
  EXPECT_EQ(collective.difference(), "");
  std::vector<trace::Event> events;
  for (uint32_t r = 0; r < num_ranks; ++r) {
    trace::EventRing::Cursor cursor;
    cluster.engine(r).step_trace()->ring().collect(cursor, events);
  }
  return events;
}

class StepTraceOf : public testing::TestWithParam<std::tuple<CollectiveKind, std::string_view>> {};

TEST_P(StepTraceOf, EveryMessageIsNamedByTheStepsAtBothOfItsEnds) {
  constexpr uint32_t kRanks = 5;
  constexpr uint64_t kElems = 20000;  // as much as is read from memory, not sent as packets
  const auto [kind, algorithm] = GetParam();
  const std::set<Message> wanted =
      messages_of(plan::make(Collective{kind, kRanks}, algorithm, {}).value());
  std::set<Message> taken;
  for (const trace::Event& event : recorded({kind, algorithm, kElems}, kRanks)) {
    const End own{event.rank, event.lane, event.step};
    const End other{event.peer, event.peer_lane, event.peer_step};
    if (event.peer == trace::kNoPeer) continue;
    if (!trace::takes(event.op)) {
      EXPECT_TRUE(wanted.contains({own, other}));
    } else if (event.kind == trace::EventKind::kStep) {
      taken.emplace(other, own);
    } else {
      EXPECT_TRUE(wanted.contains({other, own}));
    }
  }
  EXPECT_EQ(taken, wanted);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, StepTraceOf,
                         testing::Values(std::tuple(CollectiveKind::kAllReduce, "ring"),
                                         std::tuple(CollectiveKind::kAllReduce,
                                                    "double_tree"),  // several channels
                                         std::tuple(CollectiveKind::kAllReduce, "rabenseifner"),
                                         std::tuple(CollectiveKind::kBroadcast, "chain"),
                                         std::tuple(CollectiveKind::kAllToAll, "bruck")),
                         [](const auto& its) {
                           return std::string(to_string(std::get<0>(its.param))) + "_" +
                                  std::string(std::get<1>(its.param));
                         });

}  // namespace
}  // namespace tutti::test
