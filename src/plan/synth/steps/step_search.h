// Finds moves that do a collective in given steps and rounds. A search, not a proof: it may fail
// where there are some. Whether there can be any, step_bounds.h says. Same input, same answer.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/synth/steps/step_bounds.h"
#include "plan/synth/steps/step_network.h"

namespace tutti::plan::steps {

struct Move {
  uint32_t hop = 0;
  uint32_t chunk = 0;  // of a spread: owner's place * chunks + part; of an exchange:
                       // (from * ranks + to) * chunks + part
  uint32_t step = 0;   // from 0 on
};

// How often a search begins anew, each time with what went wrong in mind.
struct Attempts {
  uint32_t most = 0;
  uint32_t in_vain = 0;      // one after the other that came no nearer; then it gives up
  uint64_t* work = nullptr;  // what may still be tried, counted down; at 0 one attempt is all
  uint64_t seed = 0;
};

// Moves by step.
[[nodiscard]] std::optional<std::vector<Move>> find_spread(const StepNetwork& network,
                                                           const StepDemand& demand,
                                                           const Rounds& rounds,
                                                           const Attempts& attempts);
[[nodiscard]] std::optional<std::vector<Move>> find_exchange(const StepNetwork& network,
                                                             const StepDemand& demand,
                                                             const Rounds& rounds,
                                                             const Attempts& attempts);

[[nodiscard]] inline std::optional<std::vector<Move>> find_moves(const StepNetwork& network,
                                                                 const StepDemand& demand,
                                                                 const Rounds& rounds,
                                                                 const Attempts& attempts) {
  return demand.kind == StepDemand::Kind::kSpread
             ? find_spread(network, demand, rounds, attempts)
             : find_exchange(network, demand, rounds, attempts);
}

}  // namespace tutti::plan::steps
