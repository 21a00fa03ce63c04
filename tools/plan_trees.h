// What `tutti plan` says of trees: packed for a topology, with slow links beside fast ones, or
// repaired after a link has failed.
#pragma once

#include <cstdint>
#include <string>

#include "tools/plan_answer.h"
#include "topo/topology.h"
#include "tutti/collective.h"
#include "tutti/result.h"

namespace tutti::tools {

struct TreeRequest {
  Collective collective;
  std::string algorithm;  // packed, blink, quick, rings or mixed
  uint32_t chunks = 0;    // 0: the best in simulation
  uint64_t bytes = 0;
};

[[nodiscard]] Result<PlanAnswer> answer_trees(const TreeRequest& request,
                                              const topo::Topology& topology);

// `before` is the answer for the machine as it was: its trees, mended for the topology as it is
// now.
[[nodiscard]] Result<PlanAnswer> answer_repaired(const TreeRequest& request,
                                                 const PlanAnswer& before,
                                                 const topo::Topology& topology);

}  // namespace tutti::tools
