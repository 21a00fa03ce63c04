// tutti plan --algo greedy: schedules that fill the links step by step in time.
#pragma once

#include "plan/synth/greedy.h"
#include "tools/plan_answer.h"
#include "topo/topology.h"
#include "tutti/collective.h"
#include "tutti/result.h"

namespace tutti::tools {

// Shows on a terminal how far it is; Ctrl-C ends it with an error.
[[nodiscard]] Result<PlanAnswer> answer_greedy(const Collective& collective,
                                               const topo::Topology& topology,
                                               plan::synth::GreedyOptions options);

}  // namespace tutti::tools
