// Trees of `quick` with pieces that suit a size, in a few simulations: what the trees carry at best
// tells which of them can still win, so most need none.
#pragma once

#include <cstdint>

#include "plan/packed.h"
#include "topo/topology.h"
#include "tutti/collective.h"
#include "tutti/result.h"

namespace tutti::plan {

struct QuickLimits {
  // A plan so close to what its trees could do at best is not improved on.
  double enough = 1.02;
  // Of one simulation: pieces, times messages, times messages on a link, since each that comes or
  // goes changes the rates of the others. Fewer pieces are taken where more would exceed it: on
  // trees of depth d a message in k pieces takes some 1 + (d - 1) / k times as long as in endlessly
  // many.
  double max_work = 1.2e6;
};

// No limits: every set of trees with every number of pieces. To compare with; takes minutes for
// large messages of more than 16 ranks.
inline constexpr QuickLimits kExhaustive{.enough = 0, .max_work = 1e300};

// chunks 0: the pieces that simulate fastest for `bytes`. Errors: those of quick_packings and of
// the simulator.
[[nodiscard]] Result<PackedPlan> plan_quick(const Collective& collective,
                                            const topo::Topology& topology, uint32_t chunks,
                                            uint64_t bytes, const QuickLimits& limits = {});

}  // namespace tutti::plan
