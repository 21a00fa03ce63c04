// What the collectives mean to the verifier: which memory is shared in place, and whose
// contributions every output must hold. Written from the table in ir/layout.h, not from any
// planner.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "ir/layout.h"
#include "ir/schedule.h"
#include "verify/contribution_set.h"

namespace tutti::verify {

// False where a call cannot pass one memory as input and output: all_to_all, send_recv.
[[nodiscard]] bool has_in_place(CollectiveKind kind);

// The placements that `claimed` stands for, in the order in which they are proved. A barrier has no
// data, hence one case; kEither of a collective without in place is out of place.
[[nodiscard]] std::vector<ir::Placement> placements_to_prove(const ir::Schedule& schedule);

// Where the buffers of a rank begin, in a row of chunk positions. In place one of input and output
// lies inside the other.
struct RankMemory {
  std::array<uint64_t, ir::kNumBuffers> begin;
  uint64_t end;

  [[nodiscard]] uint64_t address(ir::Buffer buffer, uint32_t index) const {
    return begin[static_cast<size_t>(buffer)] + index;
  }
};

// The memory of a rank, laid out from `begin` on.
[[nodiscard]] RankMemory place_memory(const ir::Schedule& schedule, const ir::Layout& layout,
                                      ir::Placement placement, Rank rank, uint64_t begin);

// The contributions that a chunk of an output must hold at the end.
[[nodiscard]] ContributionSet meaning_of(const ir::Layout& layout, const ContributionSets& sets,
                                         ChunkId chunk);

}  // namespace tutti::verify
