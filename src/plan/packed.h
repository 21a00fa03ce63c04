// Algorithms that are made for one topology: `packed` (exact tree packing), `blink` (Blink's trees,
// to compare), `quick` (plan/quick.h: trees for short messages), `rings` (packing/rings.h: rings
// along links), `mixed` (fast and slow links at once: plan/mixed.h), `greedy` (synth/greedy_plan.h,
// which is its door) and `steps` (the same: synth/steps/step_plan.h). They stand beside the
// catalogue of algorithm.h, whose entries need no topology.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

// Which of these choices are worth a trial, asked in their order: not those that take long, nor
// more pieces once these have only made it slower.
class PackedTrials {
 public:
  explicit PackedTrials(const packing::Packing& packing);
  [[nodiscard]] uint64_t num_steps(uint32_t chunks) const;  // about
  // Why so many pieces are not tried; empty where they are.
  [[nodiscard]] std::string refusal(uint32_t chunks) const;
  void note(double ns);

 private:
  uint64_t steps_a_piece_;
  double best_ns_ = 0;
  uint32_t num_noted_ = 0;
  uint32_t num_slower_ = 0;  // in succession
};

// Packs for `packed`, `blink` or `rings`; `quick` needs a size. Errors: those of packing::pack and
// find_rings; kNotFound for another name.
[[nodiscard]] Result<packing::Packing> pack_for(const Collective& collective,
                                                const topo::Topology& topology,
                                                std::string_view algorithm);

// The packing as a schedule, every share cut into `chunks` pieces.
[[nodiscard]] Result<ir::Schedule> make_packed(const Collective& collective,
                                               const packing::Packing& packing,
                                               std::string_view algorithm, uint32_t chunks);

// Trees of `quick` for a size, with the bounds that pack_for gives; one or more sets, of which the
// simulator is to choose. Errors: those of packing::pack.
[[nodiscard]] Result<std::vector<packing::Packing>> quick_packings(const Collective& collective,
                                                                   const topo::Topology& topology,
                                                                   uint64_t bytes);

struct PackedPlan {
  packing::Packing packing;
  ir::Schedule schedule;
  uint32_t chunks = 0;
  double ns = 0;  // simulated for `bytes`
};

// For `packed`, `blink`, `quick` and `rings`. chunks 0: those of packed_chunk_choices that simulate
// fastest for `bytes`.
[[nodiscard]] Result<PackedPlan> plan_packed(const Collective& collective,
                                             const topo::Topology& topology,
                                             std::string_view algorithm, uint32_t chunks,
                                             uint64_t bytes);

}  // namespace tutti::plan
