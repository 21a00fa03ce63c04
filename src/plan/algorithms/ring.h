// A rank's place on the ring of all ranks: who is how far ahead of it, who behind.
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace tutti::plan {

struct RingPlace {
  uint32_t rank;
  uint32_t num_ranks;

  // 0 <= distance <= num_ranks.
  [[nodiscard]] uint32_t ahead(uint64_t distance) const {
    return static_cast<uint32_t>((rank + distance) % num_ranks);
  }
  [[nodiscard]] uint32_t behind(uint64_t distance) const {
    return static_cast<uint32_t>((rank + num_ranks - distance) % num_ranks);
  }
  [[nodiscard]] Rank next() const { return Rank{ahead(1)}; }
  [[nodiscard]] Rank previous() const { return Rank{behind(1)}; }
};

}  // namespace tutti::plan
