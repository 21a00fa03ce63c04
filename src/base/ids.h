// Integers that mean something: a Rank is not a lane, a chunk is not a step.
// An Id is 4 bytes, compares, hashes, and converts to nothing by itself.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace tutti {

template <class Tag>
struct Id {
  uint32_t value = 0;

  constexpr Id() = default;
  constexpr explicit Id(uint32_t v) : value(v) {}
  friend constexpr auto operator<=>(Id, Id) = default;
};

// A member of a communicator, 0 .. num_ranks - 1.
using Rank = Id<struct RankTag>;
inline constexpr Rank kNoRank{UINT32_MAX};

// A logical piece of the collective's data; see ir/layout.h.
using ChunkId = Id<struct ChunkTag>;

}  // namespace tutti

template <class Tag>
struct std::hash<tutti::Id<Tag>> {
  size_t operator()(tutti::Id<Tag> id) const noexcept { return std::hash<uint32_t>{}(id.value); }
};
