// What `tutti plan` has to say of a plan, and how it is kept for the next time.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "comm/plan_store.h"
#include "ir/schedule.h"
#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::tools {

struct PlanAnswer {
  ir::Schedule schedule;
  std::string notes;  // lines for people
  nlohmann::ordered_json summary;
  nlohmann::ordered_json trees = nullptr;  // of a packing, so that it can be repaired later
};

// kRefused where the schedule is wrong: a planner's claim is proved before it is written or kept.
// More than a million steps are not looked at.
[[nodiscard]] Status prove(const ir::Schedule& schedule);

using MakeAnswer = std::function<Result<PlanAnswer>()>;

// The answer that this very program gave before (comm/plan_store.h), proved again; else a new one,
// which is proved and kept. Notes and summary say which. A cache that does not work is told on
// standard error, and done without.
[[nodiscard]] Result<PlanAnswer> cached(comm::PlanQuestion question, const topo::Topology& topology,
                                        const MakeAnswer& make);

}  // namespace tutti::tools
