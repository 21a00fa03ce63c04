// Which peers of a lane share a thread block.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/schedule.h"

namespace tutti::ir::msccl {

struct PeerPair {
  int32_t recv = -1;  // -1: none
  int32_t send = -1;
};

// Every peer of the lane appears once as `recv` if the lane receives from it and once as `send` if
// it sends to it. A lane without peers has one pair of none. Peers that fused steps join are put
// together, those joined most often first; what is left is paired too, because fewer thread blocks
// need fewer dependencies.
[[nodiscard]] std::vector<PeerPair> pair_peers(const Lane& lane);

}  // namespace tutti::ir::msccl
