#include "ir/msccl/rank_order.h"

#include <algorithm>

namespace tutti::ir::msccl {

RankOrder::RankOrder(const RankProgram& program) : num_lanes_(program.lanes.size()) {
  size_t num_steps = 0;
  for (const Lane& lane : program.lanes) {
    lane_begin_.push_back(num_steps);
    num_steps += lane.steps.size();
  }
  clocks_.assign(num_steps * num_lanes_, 0);
  order_.reserve(num_steps);

  // A lane advances until a step waits for a lane that is behind; that lane wakes it when it gets
  // there. Every step is looked at once for each of its dependencies.
  std::vector<uint32_t> done(num_lanes_, 0);
  std::vector<std::vector<uint32_t>> sleepers(num_steps);
  std::vector<uint32_t> ready;
  for (uint32_t lane = 0; lane < num_lanes_; ++lane) ready.push_back(lane);
  while (!ready.empty()) {
    const uint32_t lane = ready.back();
    ready.pop_back();
    while (done[lane] < program.lanes[lane].steps.size()) {
      const StepRef here{lane, done[lane]};
      const auto deps = program.deps_of(program.lanes[lane].steps[here.step]);
      const auto behind = std::find_if(deps.begin(), deps.end(),
                                       [&](StepRef dep) { return dep.step >= done[dep.lane]; });
      if (behind != deps.end()) {
        sleepers[lane_begin_[behind->lane] + behind->step].push_back(lane);
        break;
      }
      visit(program, here);
      ++done[lane];
      auto& woken = sleepers[lane_begin_[lane] + here.step];
      ready.insert(ready.end(), woken.begin(), woken.end());
    }
  }
}

void RankOrder::visit(const RankProgram& program, StepRef ref) {
  uint32_t* mine = clock(ref);
  const auto join = [&](StepRef other) {
    const uint32_t* theirs = clock(other);
    for (size_t i = 0; i < num_lanes_; ++i) mine[i] = std::max(mine[i], theirs[i]);
  };
  if (ref.step > 0) join({ref.lane, ref.step - 1});
  for (StepRef dep : program.deps_of(program.lanes[ref.lane].steps[ref.step])) join(dep);
  mine[ref.lane] = ref.step + 1;
  order_.push_back(ref);
}

}  // namespace tutti::ir::msccl
