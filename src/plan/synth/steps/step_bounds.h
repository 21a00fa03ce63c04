// How few steps and rounds any schedule needs.
//
// Steps: data moves one hop in a step, so the two ranks that are farthest apart need as many steps
// as there are hops between them.
//
// Rounds: lay out the network once for every step. What a rank is to have at the end must flow to
// it through these layers from where it is at the beginning; a minimum cut tells whether it can,
// whatever the schedule. For all_to_all, where flows to different ranks do not share: what must
// leave a set of ranks, and how far all blocks have to go together.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/synth/steps/step_network.h"

namespace tutti::plan::steps {

// Which ranks have what at the beginning. In a spread all need everything; in an exchange rank j
// needs `chunks` from each other rank.
struct StepDemand {
  enum class Kind : uint8_t { kSpread, kExchange };
  Kind kind = Kind::kSpread;
  uint32_t chunks = 1;           // of each rank that has some; of each pair in an exchange
  std::vector<uint32_t> owners;  // of a spread: these ranks have chunks, in this order

  [[nodiscard]] uint32_t num_chunks() const {
    return static_cast<uint32_t>(owners.size()) * chunks;
  }
};

struct FarthestPair {
  uint32_t from = 0;
  uint32_t to = 0;
  uint32_t num_hops = 0;
};
// Over pairs of which one needs data of the other.
[[nodiscard]] FarthestPair farthest_pair(const StepNetwork& network, const StepDemand& demand);

// Rounds by step.
using Rounds = std::vector<uint32_t>;

// False: proved that no schedule does it in so many rounds.
[[nodiscard]] bool may_suffice(const StepNetwork& network, const StepDemand& demand,
                               const Rounds& rounds);

// Ways to share `total` rounds out over steps of at least one each, the evenest first, as those
// most often suffice: all of them, where these are not thousands.
[[nodiscard]] std::vector<Rounds> ways_to_share(uint32_t num_steps, uint32_t total);

// Proved: no schedule in so many steps has fewer rounds. At most `most`.
[[nodiscard]] uint32_t least_rounds(const StepNetwork& network, const StepDemand& demand,
                                    uint32_t num_steps, uint32_t most);

}  // namespace tutti::plan::steps
