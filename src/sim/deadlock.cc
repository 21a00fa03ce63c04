// Says why nothing moves any more. Every lane that is not done waits for a step that has not run,
// so following who waits for whom ends in a cycle; the cycle is the message.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "sim/execution.h"

namespace tutti::sim {
namespace {

constexpr size_t kShownSteps = 8;

}  // namespace

Execution::Obstacle Execution::obstacle_of(uint32_t lane) const {
  const LaneState& state = lanes_[lane];
  if (state.phase != Phase::kBlocked) return obstacle_of_standing(lane);
  if (has_passed(state.blocked_on)) return obstacle_of_completion(state.blocked_on);
  return {state.blocked_on, "depends on"};
}

Error Execution::deadlock() const {
  const auto stuck = std::find_if(lanes_.begin(), lanes_.end(),
                                  [](const LaneState& lane) { return lane.phase != Phase::kDone; });
  auto lane = static_cast<uint32_t>(stuck - lanes_.begin());
  std::vector<uint32_t> path;
  std::vector<const char*> reasons;
  std::unordered_map<uint32_t, size_t> place;
  while (place.emplace(lane, path.size()).second) {
    const Obstacle obstacle = obstacle_of(lane);
    path.push_back(lane);
    reasons.push_back(obstacle.reason);
    lane = program_.lane_of(obstacle.step);
  }
  const size_t first = place[lane];
  const size_t length = path.size() - first;
  std::string text = program_.describe(lanes_[lane].at);
  for (size_t i = 0; i < std::min(length, kShownSteps); ++i) {
    const uint32_t next = path[first + (i + 1) % length];
    text += fmt::format("{}{} {}", i == 0 ? " " : ", which ", reasons[first + i],
                        program_.describe(lanes_[next].at));
  }
  if (length > kShownSteps) text += fmt::format(", and so on: {} steps in a circle", length);
  return {ErrorCode::kRefused,
          fmt::format("schedule '{}' cannot finish, {} of {} lanes stand still: {}; 'tutti verify' "
                      "says which rule is broken",
                      program_.schedule().name, num_lanes() - num_done_, num_lanes(), text)};
}

}  // namespace tutti::sim
