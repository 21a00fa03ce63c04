// What every test of a family of schedules starts with: the verifier proves it, and the plain
// interpreter gets the right numbers from it.
#pragma once

#include "tests/unit/plan/plan_facts.h"
#include "verify/check.h"

namespace tutti::plan {

inline void expect_proved(const ir::Schedule& schedule) {
  SCOPED_TRACE(describe(schedule));
  const verify::Verdict verdict = verify::check(schedule);
  EXPECT_TRUE(verdict.proved()) << verdict.refusal().message;
}

inline void expect_proved_and_right(const ir::Schedule& schedule) {
  expect_proved(schedule);
  // The interpreter copies every chunk that moves: large schedules are left to the verifier.
  if (schedule.collective.num_ranks <= 9) expect_right(schedule);
}

// Scratch positions of the rank that has most.
inline size_t max_scratch(const ir::Schedule& schedule) {
  size_t most = 0;
  for (const ir::RankProgram& program : schedule.ranks) {
    most = std::max(most, program.scratch.size());
  }
  return most;
}

inline uint32_t num_messages_sent(const ir::RankProgram& program) {
  uint32_t count = 0;
  for (const ir::Step* step : all_steps(program)) count += ir::sends(step->kind) ? 1 : 0;
  return count;
}

inline uint32_t floor_log2(uint32_t p) { return static_cast<uint32_t>(std::bit_width(p)) - 1; }

}  // namespace tutti::plan
