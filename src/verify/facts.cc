#include "verify/facts.h"

#include <utility>

#include "base/try.h"

namespace tutti::verify {

Result<Facts> Facts::collect(const ir::Schedule& schedule) {
  TUTTI_ASSIGN(const ir::Layout layout,
               ir::Layout::create(schedule.collective, schedule.chunks_per_block));
  const ir::StepNumbering numbering(schedule);
  TUTTI_ASSIGN(ir::Matching matching, ir::match_messages(schedule, numbering));
  return Facts(schedule, layout, std::move(matching));
}

Facts::Facts(const ir::Schedule& schedule, const ir::Layout& layout, ir::Matching matching)
    : schedule_(&schedule),
      layout_(layout),
      taker_(std::move(matching.taker)),
      sender_(std::move(matching.sender)) {
  lane_of_.reserve(taker_.size());
  for (uint32_t r = 0; r < schedule.ranks.size(); ++r) {
    first_lane_.push_back(static_cast<uint32_t>(lanes_.size()));
    for (uint32_t i = 0; i < schedule.ranks[r].lanes.size(); ++i) {
      const std::vector<ir::Step>& steps = schedule.ranks[r].lanes[i].steps;
      const auto begin = static_cast<StepNumber>(lane_of_.size());
      const auto end = static_cast<StepNumber>(begin + steps.size());
      lane_of_.resize(end, static_cast<uint32_t>(lanes_.size()));
      lanes_.push_back({Rank{r}, i, begin, end, steps.data()});
    }
  }
}

uint64_t Facts::num_messages() const {
  uint64_t count = 0;
  for (StepNumber taker : taker_) count += taker != kNoStep ? 1 : 0;
  return count;
}

}  // namespace tutti::verify
