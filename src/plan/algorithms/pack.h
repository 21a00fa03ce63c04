// Blocks that lie here and there, made into the one region that a message is.
#pragma once

#include <span>

#include "base/ids.h"
#include "ir/builder.h"

namespace tutti::plan {

// One chunk and its position.
struct PlacedChunk {
  ir::Region where;  // of one position
  ChunkId chunk;
};

// Returns a region with the given chunks in the given order: where they are, if they already lie
// one behind the other, and else new scratch that the lane copies them to.
[[nodiscard]] ir::Region pack(ir::Builder& b, ir::LaneWriter lane,
                              std::span<const PlacedChunk> chunks);

// New scratch for the given chunks, in this order.
[[nodiscard]] ir::Region add_scratch_for(ir::Builder& b, Rank rank,
                                         std::span<const PlacedChunk> chunks);

}  // namespace tutti::plan
