// Which recv takes which send. On a connection (sender, receiver, channel) the n-th message sent is
// the n-th received; both ends are found by walking lanes in order, so a connection must belong to
// one lane at each end. Steps are numbered through the whole schedule: rank by rank, lane by lane.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "ir/schedule.h"
#include "tutti/result.h"

namespace tutti::ir {

// Position of a step in the numbering of all steps.
using StepNumber = uint32_t;
inline constexpr StepNumber kNoStep = UINT32_MAX;

// Translates between (rank, lane, step) and the running number.
class StepNumbering {
 public:
  // The schedule must have fewer than 2^32 - 1 steps and outlive this.
  explicit StepNumbering(const Schedule& schedule);

  [[nodiscard]] uint32_t num_steps() const { return lane_begin_.back(); }
  [[nodiscard]] StepNumber number(Rank rank, StepRef ref) const {
    return lane_begin_[rank_begin_[rank.value] + ref.lane] + ref.step;
  }
  struct Place {
    Rank rank;
    StepRef ref;
  };
  [[nodiscard]] Place place(StepNumber number) const;

 private:
  std::vector<uint32_t> rank_begin_;  // first lane of each rank, in the row of all lanes
  std::vector<uint32_t> lane_begin_;  // first step of each lane, and the end
  std::vector<uint32_t> lane_rank_;
};

struct Matching {
  // Indexed by StepNumber: for a step that sends, the step that takes it; for one that receives,
  // the step it takes from; kNoStep elsewhere.
  std::vector<StepNumber> taker;
  std::vector<StepNumber> sender;
  // For a step that sends: the previous and next send on its connection are found by `sequence`,
  // the message's number on the connection.
  std::vector<uint32_t> sequence;
};

// kMalformed when a connection is shared by two lanes of a rank, when the ends disagree on the
// number of messages, or when a message and its recv differ in chunks. Needs a schedule of good
// shape.
[[nodiscard]] Result<Matching> match_messages(const Schedule& schedule,
                                              const StepNumbering& numbering);

}  // namespace tutti::ir
