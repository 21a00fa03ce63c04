// The history of every algorithm, for several numbers of ranks and both placements: every step is
// in it once, every message arrives a round or more after it was sent, and in the end every output
// holds what the collective wants.
#include "verify/history.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "ir/schedule.h"
#include "plan/algorithm.h"

namespace tutti {
namespace {

void expect_whole(const ir::Schedule& schedule, const verify::History& history) {
  uint64_t num_steps = 0;
  std::map<uint64_t, verify::Held> cells;
  for (const verify::CellWrite& write : history.start) cells[write.cell] = write.value;
  for (uint32_t i = 0; i < history.rounds.size(); ++i) {
    num_steps += history.rounds[i].steps.size();
    for (const verify::CellWrite& write : history.rounds[i].writes) {
      cells[write.cell] = write.value;
    }
    for (const verify::Message& message : history.rounds[i].arrived) EXPECT_LT(message.sent_in, i);
  }
  EXPECT_EQ(num_steps, ir::num_steps(schedule));
  EXPECT_TRUE(history.never_taken.empty());
  EXPECT_TRUE(history.stuck.empty());
  for (const verify::CellWrite& wanted : history.wanted) {
    EXPECT_EQ(cells[wanted.cell], wanted.value) << "cell " << wanted.cell;
  }
}

TEST(HistoryOfEveryAlgorithm, HasEveryStepAndEndsAsTheCollectiveWants) {
  for (const plan::Algorithm& algorithm : plan::algorithms()) {
    for (uint32_t p : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 12u}) {
      const uint32_t peer = algorithm.kind == CollectiveKind::kSendRecv ? p - 1 : 0;
      const ir::Schedule schedule =
          plan::make({algorithm.kind, p, 0, peer}, algorithm.name, {}).value();
      for (ir::Placement placement : verify::placements_to_prove(schedule)) {
        SCOPED_TRACE(fmt::format("{} {} of {} ranks, {}", to_string(algorithm.kind), algorithm.name,
                                 p, ir::to_string(placement)));
        verify::HistoryOptions options;
        options.placement = placement;
        const verify::History history = verify::write_history(schedule, options).value();
        ASSERT_FALSE(history.refusal) << history.refusal->message;
        ASSERT_FALSE(history.stopped_by) << history.stopped_by->message;
        expect_whole(schedule, history);
      }
    }
  }
}

TEST(HistoryOfEveryAlgorithm, OfABarrierEndsWithEveryoneHeardOf) {
  for (const plan::Algorithm& algorithm : plan::algorithms()) {
    if (algorithm.kind != CollectiveKind::kBarrier) continue;
    for (uint32_t p : {1u, 2u, 3u, 5u, 8u, 13u}) {
      SCOPED_TRACE(fmt::format("{} of {} ranks", algorithm.name, p));
      const ir::Schedule schedule = plan::make({algorithm.kind, p}, algorithm.name, {}).value();
      expect_whole(schedule, verify::write_history(schedule).value());
    }
  }
}

}  // namespace
}  // namespace tutti
