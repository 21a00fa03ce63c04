// Algorithms that are made for one topology: `packed` (exact tree packing) and `blink` (Blink's
// trees, to compare). They stand beside the catalogue of algorithm.h, whose entries need no
// topology.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ir/schedule.h"
#include "plan/algorithm.h"
#include "plan/packing/pack.h"
#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::plan {

// One entry for each collective and method; their `make` refuses, since it is given no topology.
[[nodiscard]] std::span<const Algorithm> topology_algorithms();

// Whether the name is one of these.
[[nodiscard]] bool needs_topology(std::string_view algorithm);

// What schedules of these trees are cut into by default; the simulator chooses among them.
[[nodiscard]] std::span<const uint32_t> packed_chunk_choices();

// Packs for `packed` or `blink`. Errors: those of packing::pack; kNotFound for another name.
[[nodiscard]] Result<packing::Packing> pack_for(const Collective& collective,
                                                const topo::Topology& topology,
                                                std::string_view algorithm);

// The packing as a schedule, every share cut into `chunks` pieces.
[[nodiscard]] Result<ir::Schedule> make_packed(const Collective& collective,
                                               const packing::Packing& packing,
                                               std::string_view algorithm, uint32_t chunks);

struct PackedPlan {
  packing::Packing packing;
  ir::Schedule schedule;
  uint32_t chunks = 0;
  double ns = 0;  // simulated for `bytes`
};

// chunks 0: those of packed_chunk_choices that simulate fastest for `bytes`.
[[nodiscard]] Result<PackedPlan> plan_packed(const Collective& collective,
                                             const topo::Topology& topology,
                                             std::string_view algorithm, uint32_t chunks,
                                             uint64_t bytes);

}  // namespace tutti::plan
