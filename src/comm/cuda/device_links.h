// Where ranks that share a GPU from several processes tell each other of memory (LinkWords): pairs
// of words in each rank's segment, which that rank alone writes and all others of the job read.
// Never given back: two ranks meet few times.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "engine/cuda/reach.h"
#include "transport/endpoint.h"

namespace tutti::comm {

// A place of this rank's that nobody has. Any thread. 0: there is none left.
[[nodiscard]] uint32_t take_link(const transport::Endpoint& endpoint);

// Of this rank's place, and that of a peer as it has said; with nothing if one of them has none.
struct LinkEnds {
  uint32_t here = 0;
  Rank peer;
  uint32_t there = 0;
};
[[nodiscard]] engine::cuda::RegionLink link_of(const transport::Endpoint& endpoint,
                                               const LinkEnds& ends);

}  // namespace tutti::comm
