// Schedules of the fewest steps, and of these with the fewest rounds (after SCCL): for messages so
// short that hops count and bytes hardly do. Up to 16 ranks. The door to steps/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/schedule.h"
#include "plan/synth/steps/step_bounds.h"
#include "plan/synth/steps/step_writer.h"
#include "topo/topology.h"
#include "tutti/collective.h"
#include "tutti/result.h"

namespace tutti::plan::steps {

// The collectives that are served: all but gather, scatter, barrier and send_recv.
[[nodiscard]] bool is_stepped(CollectiveKind kind);

enum class Effort : uint8_t {
  kLow,   // a moment, to compare with other algorithms
  kFull,  // seconds
};

struct StepsOptions {
  uint64_t bytes = 0;   // as sim::Options counts
  uint32_t chunks = 0;  // of a block; 0: what simulates fastest of a few
  Effort effort = Effort::kFull;
};

// One number of steps and chunks that was looked at. Of all_reduce, steps and rounds of both halves
// together.
struct StepsTrial {
  Shape shape = Shape::kDirect;
  uint32_t num_steps = 0;
  uint32_t chunks = 0;
  uint32_t num_rounds = 0;    // 0: the search found none
  uint32_t least_rounds = 0;  // proved: so many steps of so many chunks need these
  double ns = 0;              // simulated
};

struct StepsPlan {
  ir::Schedule schedule;
  StepsTrial best;
  FarthestPair farthest;  // why there are no fewer steps
  std::vector<StepsTrial> trials;
  uint32_t num_searches = 0;
  uint32_t num_cut_short = 0;  // of these: had not tried all when their work was done
};

// The topology has as many ranks as the collective. kUnsupported for a collective that is not
// served; step_network's errors.
[[nodiscard]] Result<StepsPlan> plan_steps(const Collective& collective,
                                           const topo::Topology& topology,
                                           const StepsOptions& options);

// Steps and rounds of the plan, and how few there could be: two sentences. Empty for one rank.
[[nodiscard]] std::string summary(const StepsPlan& plan, const topo::Topology& topology);

// What a search for so many steps came to.
struct StepsFound {
  struct Way {
    uint32_t num_rounds = 0;
    std::vector<Move> moves;
  };
  std::vector<Move> moves;    // empty: none found
  uint32_t num_rounds = 0;    // of the moves
  uint32_t least_rounds = 0;  // proved
  std::vector<Way> others;    // found on the way to these; more rounds, and maybe faster
  bool is_cut_short = false;  // more attempts were allowed than its work was enough for
};
// Tries the fewest rounds that may suffice first, then more.
[[nodiscard]] StepsFound find_in_steps(const StepNetwork& network, const StepDemand& demand,
                                       uint32_t num_steps, Effort effort);

}  // namespace tutti::plan::steps
