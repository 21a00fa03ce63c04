// The words of refusals: how steps, regions and sets of ranks are named.
#pragma once

#include <string>

#include "verify/contribution_set.h"
#include "verify/event_graph.h"
#include "verify/facts.h"

namespace tutti::verify {

// "output[3]", "scratch[0:4]"
[[nodiscard]] std::string name_of(ir::Region region);
// "recv_reduce input[0] -> output[0] from rank 2", "send a signal to rank 1"
[[nodiscard]] std::string describe(const ir::Step& step);
// "rank 3 lane 0 step 2 (send output[3] to rank 4)"
[[nodiscard]] std::string name_of(const Facts& facts, StepNumber step);
// "rank 5", "ranks 0-4,6", "no rank"
[[nodiscard]] std::string name_of(const ContributionSets::Ranges& ranks);
// "under lending", "with 2 slots"
[[nodiscard]] std::string name_of(const Facts& facts, Discipline discipline);

// A refusal about a step. The message is "RULE: STEP WHAT", with what the schedule was asked for.
[[nodiscard]] Refusal refuse_step(const EventGraph& graph, Rule rule, StepNumber step,
                                  const std::string& what);

}  // namespace tutti::verify
