// tutti plan --algo steps: the fewest steps from rank to rank.
#pragma once

#include <cstdint>

#include "tools/plan_answer.h"
#include "topo/topology.h"
#include "tutti/collective.h"
#include "tutti/result.h"

namespace tutti::tools {

[[nodiscard]] Result<PlanAnswer> answer_steps(const Collective& collective,
                                              const topo::Topology& topology, uint32_t chunks,
                                              uint64_t bytes);

}  // namespace tutti::tools
