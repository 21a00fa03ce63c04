// What the tests of planned schedules ask: is it right on real numbers, how long is its critical
// path, who sends how much.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "ir/matching.h"
#include "ir/sizes.h"
#include "plan/algorithm.h"
#include "tests/support/interpreter.h"
#include "tests/support/sanitized.h"

namespace tutti::plan {

// The numbers of ranks that every algorithm is tried with.
inline std::vector<uint32_t> rank_counts() {
  if (test::kSanitized) return {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17};
  std::vector<uint32_t> counts;
  for (uint32_t p = 1; p <= 33; ++p) counts.push_back(p);
  counts.push_back(64);
  return counts;
}

// Those that are also run on real numbers here; tests/property runs all of them.
inline std::vector<uint32_t> few_rank_counts() {
  if (test::kSanitized) return {1, 2, 3, 5, 8, 13};
  return {1, 2, 3, 4, 5, 6, 7, 8, 13, 33};
}

// The first, the second, one in the middle and the last.
inline std::vector<uint32_t> some_roots(uint32_t p) {
  std::vector<uint32_t> roots = {0, 1 % p, p / 2, p - 1};
  std::sort(roots.begin(), roots.end());
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  return roots;
}

inline uint32_t ceil_log2(uint32_t p) { return static_cast<uint32_t>(std::bit_width(p - 1)); }

inline std::vector<const ir::Step*> all_steps(const ir::RankProgram& program) {
  std::vector<const ir::Step*> steps;
  for (const ir::Lane& lane : program.lanes) {
    for (const ir::Step& step : lane.steps) steps.push_back(&step);
  }
  return steps;
}

// Chunks that a rank sends, all messages together.
inline uint64_t chunks_sent(const ir::Schedule& schedule, uint32_t rank) {
  uint64_t sum = 0;
  for (const ir::Step* step : all_steps(schedule.ranks[rank])) {
    if (ir::sends(step->kind)) sum += step->num_chunks;
  }
  return sum;
}

// When the last step has run, by lending, if a message of c chunks takes alpha + c * beta from the
// moment at which both its ends are there, and nothing else takes time. Links are not shared, so
// this is the true time of schedules that use each end of a rank for one message at a time.
inline uint64_t lending_time(const ir::Schedule& schedule, uint64_t alpha, uint64_t beta) {
  const ir::StepNumbering numbering(schedule);
  const ir::Matching matching = ir::match_messages(schedule, numbering).value();
  std::vector<uint64_t> done(numbering.num_steps(), 0);
  const auto complete = [&](uint32_t n) {
    return matching.taker[n] != ir::kNoStep ? done[matching.taker[n]] : done[n];
  };
  // Times only grow from sweep to sweep; a deadlock would grow them for ever.
  for (uint32_t sweep = 0; sweep <= numbering.num_steps(); ++sweep) {
    bool changed = false;
    for (uint32_t n = 0; n < numbering.num_steps(); ++n) {
      const auto [rank, ref] = numbering.place(n);
      const ir::Step& step = schedule.step(rank, ref);
      uint64_t time = ref.step > 0 ? done[n - 1] : 0;
      for (const ir::StepRef dep : schedule.ranks[rank.value].deps_of(step)) {
        time = std::max(time, complete(numbering.number(rank, dep)));
      }
      if (ir::receives(step.kind)) {
        time = std::max(time, done[matching.sender[n]]) + alpha + step.num_chunks * beta;
      }
      changed = changed || time != done[n];
      done[n] = time;
    }
    if (!changed) return done.empty() ? 0 : *std::max_element(done.begin(), done.end());
  }
  ADD_FAILURE() << "the schedule cannot finish";
  return UINT64_MAX;
}

inline std::string describe(const ir::Schedule& schedule) {
  const Collective& c = schedule.collective;
  return std::string(to_string(c.kind)) + " " + schedule.name + " of " +
         std::to_string(c.num_ranks) + " ranks, root " + std::to_string(c.root) + ", " +
         std::to_string(schedule.chunks_per_block) + " chunks a block";
}

// Runs the schedule on real numbers: both disciplines, every placement it claims, a rank that comes
// late, sizes that nothing divides, and blocks that differ, some of them empty.
inline void expect_right(const ir::Schedule& schedule) {
  SCOPED_TRACE(describe(schedule));
  const ir::Layout layout =
      ir::Layout::create(schedule.collective, schedule.chunks_per_block).value();
  for (const ir::RankProgram& program : schedule.ranks) {
    for (const ir::Lane& lane : program.lanes) ASSERT_FALSE(lane.steps.empty()) << "an empty lane";
  }
  std::vector<uint64_t> counts(layout.num_blocks());
  for (uint64_t block = 0; block < counts.size(); ++block) counts[block] = block * 5 % 7;
  std::vector<test::Aliasing> placements = {test::Aliasing::kOutOfPlace};
  if (schedule.placement == ir::Placement::kEither) placements.push_back(test::Aliasing::kInPlace);
  for (const ir::Sizes& sizes : {ir::Sizes::even(layout, 3 * schedule.collective.num_ranks + 2),
                                 ir::Sizes::uneven(layout, counts).value()}) {
    for (const test::Aliasing placement : placements) {
      for (const auto discipline : {test::Discipline::kLending, test::Discipline::kSlots}) {
        for (const uint64_t seed : {uint64_t{1}, uint64_t{2}}) {
          const Status status = test::interpret(
              schedule, sizes, {.discipline = discipline, .aliasing = placement, .seed = seed});
          ASSERT_TRUE(status.ok()) << status.error().message;
        }
      }
    }
  }
}

}  // namespace tutti::plan
