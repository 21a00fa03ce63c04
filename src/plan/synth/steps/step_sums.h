// Sums that go up in steps. What comes to a rank in a step comes side by side, each into a place of
// its own, and is added up there: adding where it arrives would make each wait for the one before,
// a latency for every child instead of one for all.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/builder.h"
#include "plan/synth/greedy_schedule.h"

namespace tutti::plan::steps {

// Call with the transfers of a spread over the reversed network, the last first; messages go
// against its hops. The order of each sum is that of the calls, the rank's own input last.
class SideBySideSums {
 public:
  SideBySideSums(ir::Builder& builder, const synth::Network& network,
                 const synth::SpreadLayout& layout, uint32_t lanes);
  void write(const synth::Transfer& transfer);
  // After all transfers. By chunk: the step after which its owner has the whole sum, in output.
  std::vector<ir::StepRef> finish();

 private:
  struct Arrived {
    ir::Region where;
    ir::StepRef step;
  };
  [[nodiscard]] std::vector<Arrived>& arrived(uint32_t rank, uint32_t chunk) {
    return arrived_[size_t{rank} * layout_.owner.size() + chunk];
  }
  Arrived add_up(uint32_t rank, uint32_t chunk);

  ir::Builder& builder_;
  const synth::Network& network_;
  const synth::SpreadLayout& layout_;
  synth::PortLanes lanes_;
  std::vector<std::vector<Arrived>> arrived_;  // by rank and chunk
};

}  // namespace tutti::plan::steps
