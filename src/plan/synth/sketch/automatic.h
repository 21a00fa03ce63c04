// Sketches for those who have none: drawn from what the machine shows of itself, tried one after
// the other, until one is close enough to the bound or time is up. The fastest in simulation is
// kept.
#pragma once

#include <string>
#include <vector>

#include "plan/synth/sketch/synthesize.h"

namespace tutti::plan::sketch {

// What is worth trying, the most promising first. Rotations are those that the machine really has;
// nodes are its machines, where these have equally many consecutive ranks.
[[nodiscard]] std::vector<Sketch> automatic_sketches(const topo::Topology& topology,
                                                     const Collective& collective);

// What became of one sketch.
struct Attempt {
  std::string name;
  double ns = 0;       // simulated; 0 where there is no schedule
  std::string failed;  // why there is none
};

struct AutomaticSynthesis {
  Synthesis best;
  std::vector<Attempt> attempts;
  bool is_close = false;  // the search ended because the best is within `enough` of the bound
};

// A schedule so close to the bound is not improved on.
inline constexpr double kEnough = 1.01;

// Fails only where every sketch does, with the first one's error.
[[nodiscard]] Result<AutomaticSynthesis> synthesize_automatically(const Collective& collective,
                                                                  const topo::Topology& topology,
                                                                  solver::Solver& solver,
                                                                  const SynthesisOptions& options);

}  // namespace tutti::plan::sketch
