// Moves in steps as a schedule. Steps are no barriers there: a message goes when its data is there
// and its hop has carried what the step before gave it.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/schedule.h"
#include "plan/synth/steps/step_network.h"
#include "plan/synth/steps/step_search.h"
#include "tutti/collective.h"
#include "tutti/result.h"

namespace tutti::plan::steps {

// How moves make up a collective.
enum class Shape : uint8_t {
  kDirect,  // all_gather, broadcast, all_to_all: the moves as they are
  kBack,    // reduce_scatter, reduce: a spread over the reversed network, backwards in time
  kTwice,   // all_reduce: sums to their owners, then results to all
  kAtOnce,  // all_reduce: everyone gets all inputs and adds up, in rank order
};

struct StepMoves {
  Shape shape = Shape::kDirect;
  uint32_t chunks = 1;  // StepDemand's
  uint32_t num_steps = 0;
  std::vector<Move> forth = {};
  std::vector<Move> back = {};  // over the reversed network
};

// kInvalidArgument for more chunks than a layout can number.
[[nodiscard]] Result<ir::Schedule> write_steps(const Collective& collective,
                                               const StepNetwork& network, const StepMoves& moves);

}  // namespace tutti::plan::steps
