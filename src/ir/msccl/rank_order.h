// Which steps of one rank are always before which others, by lanes and dependencies alone.
// Messages are not looked at: an order that only another rank enforces is not known here.
// Steps on a cycle of dependencies have no order and are left out of order().
#pragma once

#include <cstdint>
#include <vector>

#include "ir/schedule.h"

namespace tutti::ir::msccl {

class RankOrder {
 public:
  explicit RankOrder(const RankProgram& program);

  // Whether `first` has run (and what depends on it too) whenever `second` runs. Not of itself.
  [[nodiscard]] bool before(StepRef first, StepRef second) const {
    return first != second && clock(second)[first.lane] > first.step;
  }
  // The steps in an order that lanes and dependencies allow.
  [[nodiscard]] const std::vector<StepRef>& order() const { return order_; }

 private:
  [[nodiscard]] const uint32_t* clock(StepRef ref) const {
    return clocks_.data() + (lane_begin_[ref.lane] + ref.step) * num_lanes_;
  }
  [[nodiscard]] uint32_t* clock(StepRef ref) {
    return clocks_.data() + (lane_begin_[ref.lane] + ref.step) * num_lanes_;
  }
  void visit(const RankProgram& program, StepRef ref);

  size_t num_lanes_;
  std::vector<size_t> lane_begin_;
  // A step's clock says of every lane how many of its steps are before this one, itself included.
  std::vector<uint32_t> clocks_;
  std::vector<StepRef> order_;
};

}  // namespace tutti::ir::msccl
