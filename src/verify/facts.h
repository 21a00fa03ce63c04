// What every pass looks up: steps by number, their lanes, who takes whose message.
// Made once a schedule, after its shape was checked; refuses messages that do not match.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "ir/layout.h"
#include "ir/matching.h"
#include "ir/schedule.h"
#include "tutti/result.h"

namespace tutti::verify {

using ir::kNoStep;
using ir::StepNumber;

class Facts {
 public:
  // The schedule has a good shape, fewer than 2^32 - 1 steps, and outlives this.
  [[nodiscard]] static Result<Facts> collect(const ir::Schedule& schedule);

  [[nodiscard]] const ir::Schedule& schedule() const { return *schedule_; }
  [[nodiscard]] const ir::Layout& layout() const { return layout_; }
  [[nodiscard]] uint32_t num_steps() const { return static_cast<uint32_t>(lane_of_.size()); }
  [[nodiscard]] uint64_t num_messages() const;

  struct Lane {
    Rank rank;
    uint32_t index;  // among the rank's lanes
    StepNumber begin;
    StepNumber end;
    const ir::Step* steps;
  };
  // All lanes of all ranks, in the order of their steps' numbers.
  [[nodiscard]] const std::vector<Lane>& lanes() const { return lanes_; }
  [[nodiscard]] uint32_t lane_of(StepNumber step) const { return lane_of_[step]; }
  [[nodiscard]] const Lane& lane(StepNumber step) const { return lanes_[lane_of_[step]]; }

  [[nodiscard]] const ir::Step& step(StepNumber step) const {
    const Lane& its = lane(step);
    return its.steps[step - its.begin];
  }
  [[nodiscard]] Rank rank(StepNumber step) const { return lane(step).rank; }
  [[nodiscard]] ir::StepRef ref(StepNumber step) const {
    const Lane& its = lane(step);
    return {its.index, step - its.begin};
  }
  [[nodiscard]] StepNumber number(Rank rank, ir::StepRef ref) const {
    return lanes_[first_lane_[rank.value] + ref.lane].begin + ref.step;
  }

  // The step that takes what this one sends; the step that sent what this one takes; or kNoStep.
  [[nodiscard]] StepNumber taker(StepNumber step) const { return taker_[step]; }
  [[nodiscard]] StepNumber sender(StepNumber step) const { return sender_[step]; }

 private:
  Facts(const ir::Schedule& schedule, const ir::Layout& layout, ir::Matching matching);

  const ir::Schedule* schedule_;
  ir::Layout layout_;
  std::vector<StepNumber> taker_;
  std::vector<StepNumber> sender_;
  std::vector<Lane> lanes_;
  std::vector<uint32_t> first_lane_;  // of each rank
  std::vector<uint32_t> lane_of_;
};

}  // namespace tutti::verify
