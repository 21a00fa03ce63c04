// Which way of running given routes is fastest: how many pieces, lanes, and whether links keep the
// order that was planned. Each is tried in the simulator.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/synth/sketch/contiguity.h"
#include "plan/synth/sketch/lower.h"
#include "plan/synth/sketch/routing.h"
#include "plan/synth/sketch/synthesize.h"

namespace tutti::plan::sketch {

// What was decided for one direction.
struct Decided {
  Logical logical;
  Demand demand;
  Direction direction = Direction::kForward;
  Routing routing;
  Contiguity contiguity;
};

// Sets schedule, time, pieces, lanes, is_trees and is_joined of `best`, whose sketch is known.
[[nodiscard]] Status choose_lowering(const Collective& collective, const topo::Topology& topology,
                                     const std::vector<Decided>& decided,
                                     const SynthesisOptions& options, Synthesis& best);

}  // namespace tutti::plan::sketch
