// Which positions of a rank's buffers are the same memory.
#pragma once

#include <cstdint>

#include "ir/layout.h"
#include "ir/schedule.h"

namespace tutti::ir::msccl {

// A number for every position of one rank. If the schedule may be called in place, an input and an
// output position of the same chunk are one place (ir/layout.h).
class Places {
 public:
  Places(const Schedule& schedule, const Layout& layout, Rank rank)
      : layout_(layout),
        rank_(rank),
        shared_(schedule.placement != Placement::kOutOfPlace &&
                schedule.collective.kind != CollectiveKind::kAllToAll &&
                schedule.collective.kind != CollectiveKind::kSendRecv) {}

  [[nodiscard]] uint64_t of(Buffer buffer, uint32_t index) const {
    if (buffer == Buffer::kScratch || !shared_) {
      return uint64_t{index} << 2 | static_cast<uint64_t>(buffer);
    }
    return uint64_t{layout_.chunk_at(rank_, buffer, index).value} << 2 | 3;
  }

 private:
  const Layout& layout_;
  Rank rank_;
  bool shared_;
};

}  // namespace tutti::ir::msccl
