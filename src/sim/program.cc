#include "sim/program.h"

#include <fmt/format.h>

#include "base/try.h"
#include "ir/shape.h"

namespace tutti::sim {

Result<Program> Program::create(const ir::Schedule& schedule) {
  TUTTI_TRY(ir::check_shape(schedule));
  if (ir::num_steps(schedule) >= kNoStep) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{} steps are more than the 2^32 - 2 that can be simulated",
                             ir::num_steps(schedule))};
  }
  Program program(schedule);
  TUTTI_ASSIGN(const ir::Matching matching,
               ir::match_messages(schedule, ir::StepNumbering(schedule)));
  program.nodes_.reserve(ir::num_steps(schedule));
  for (uint32_t r = 0; r < schedule.ranks.size(); ++r) {
    program.first_lane_.push_back(static_cast<uint32_t>(program.lanes_.size()));
    const std::vector<ir::Lane>& lanes = schedule.ranks[r].lanes;
    for (uint32_t i = 0; i < lanes.size(); ++i) {
      const auto num_steps = static_cast<uint32_t>(lanes[i].steps.size());
      const auto lane = static_cast<uint32_t>(program.lanes_.size());
      program.lanes_.push_back({Rank{r}, i, program.num_steps(), num_steps, lanes[i].steps.data()});
      for (uint32_t k = 0; k < num_steps; ++k) {
        const StepNumber s = program.num_steps();
        program.nodes_.push_back(
            {lane, matching.taker[s], matching.sender[s], matching.sequence[s]});
      }
    }
  }
  return program;
}

std::string Program::describe(StepNumber number) const {
  return fmt::format("{} ({})", ir::step_name(rank_of(number), ref(number)),
                     ir::to_string(step(number).kind));
}

}  // namespace tutti::sim
