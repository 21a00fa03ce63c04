// Where the messages of a schedule land in an MSCCL++ plan; see plan.h.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/layout.h"
#include "ir/schedule.h"

namespace tutti::ir::msccl {

struct Landing {
  // For every lane and step: where the message it takes lands. Meaningless for other steps.
  std::vector<std::vector<Region>> regions;
  uint32_t num_scratch = 0;  // the rank's own and the extra
};

[[nodiscard]] Landing choose_landing(const Schedule& schedule, const Layout& layout, Rank rank);

}  // namespace tutti::ir::msccl
