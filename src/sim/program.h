// The schedule as the simulator walks it: all lanes in one row, all steps numbered through, every
// send joined to its taker.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "ir/matching.h"
#include "ir/schedule.h"
#include "tutti/result.h"

namespace tutti::sim {

using ir::kNoStep;
using ir::StepNumber;

class Program {
 public:
  struct Lane {
    Rank rank;
    uint32_t index;  // among the lanes of its rank
    StepNumber first;
    uint32_t num_steps;
    const ir::Step* steps;
  };

  // Refuses what check_shape and match_messages refuse. The schedule must outlive this.
  static Result<Program> create(const ir::Schedule& schedule);

  [[nodiscard]] const ir::Schedule& schedule() const { return *schedule_; }
  [[nodiscard]] uint32_t num_steps() const { return static_cast<uint32_t>(nodes_.size()); }
  [[nodiscard]] const std::vector<Lane>& lanes() const { return lanes_; }

  [[nodiscard]] uint32_t lane_of(StepNumber step) const { return nodes_[step].lane; }
  [[nodiscard]] Rank rank_of(StepNumber step) const { return lanes_[nodes_[step].lane].rank; }
  [[nodiscard]] const ir::Step& step(StepNumber step) const {
    const Lane& lane = lanes_[nodes_[step].lane];
    return lane.steps[step - lane.first];
  }
  [[nodiscard]] ir::StepRef ref(StepNumber step) const {
    const Lane& lane = lanes_[nodes_[step].lane];
    return {lane.index, step - lane.first};
  }
  [[nodiscard]] StepNumber number(Rank rank, ir::StepRef ref) const {
    return lanes_[first_lane_[rank.value] + ref.lane].first + ref.step;
  }

  [[nodiscard]] StepNumber taker(StepNumber step) const { return nodes_[step].taker; }
  [[nodiscard]] StepNumber sender(StepNumber step) const { return nodes_[step].sender; }
  // The message's number on its connection.
  [[nodiscard]] uint32_t sequence(StepNumber step) const { return nodes_[step].sequence; }

  // "rank 3 lane 0 step 2 (recv_reduce)"
  [[nodiscard]] std::string describe(StepNumber step) const;

 private:
  // What is asked of a step together is kept together.
  struct Node {
    uint32_t lane;
    StepNumber taker;
    StepNumber sender;
    uint32_t sequence;
  };

  explicit Program(const ir::Schedule& schedule) : schedule_(&schedule) {}

  const ir::Schedule* schedule_;
  std::vector<Lane> lanes_;
  std::vector<uint32_t> first_lane_;  // of each rank
  std::vector<Node> nodes_;           // of each step
};

}  // namespace tutti::sim
