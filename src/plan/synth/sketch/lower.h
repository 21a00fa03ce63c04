// The stages' decisions as a schedule. Every link has a few lanes that take turns, so that the
// latency of one message hides behind the bytes of another; a lane keeps the order. Chunks may be
// cut into pieces, and the whole is then run piece after piece, a new one as often as the busiest
// port allows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/schedule.h"
#include "plan/synth/sketch/demand.h"
#include "plan/synth/sketch/logical.h"
#include "plan/synth/sketch/ordering.h"
#include "tutti/collective.h"
#include "tutti/result.h"

namespace tutti::plan::sketch {

// Transfers of one direction. Backward ones are run the other way round, in time and on each link,
// and add up: reduce_scatter is all_gather inverted.
struct Phase {
  const Logical* logical = nullptr;
  Demand demand;
  Direction direction = Direction::kForward;
  std::vector<Transfer> transfers;
  double interval_ns = 0;
};

struct LoweringOptions {
  std::string name = "sketch";
  uint32_t pieces = 1;      // of a chunk; transfers are those of one piece
  uint32_t lanes = 1;       // of a link
  bool keeps_ports = true;  // messages of different links that share a port keep its order
};

// Phases in the order in which they run: all_reduce has a backward one, then a forward one.
// kInvalidArgument for more chunks than a schedule can have; kRefused for transfers in an order in
// which something is sent on before it has come.
[[nodiscard]] Result<ir::Schedule> lower(const Collective& collective,
                                         const std::vector<Phase>& phases,
                                         const LoweringOptions& options);

}  // namespace tutti::plan::sketch
