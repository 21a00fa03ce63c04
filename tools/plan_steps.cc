#include "tools/plan_steps.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/try.h"
#include "plan/synth/steps/step_plan.h"
#include "tools/terminal.h"

namespace tutti::tools {
namespace {

using nlohmann::ordered_json;
using plan::steps::StepsPlan;
using plan::steps::StepsTrial;

// Without rounds where none were found.
ordered_json to_json(const StepsTrial& trial) {
  ordered_json json{
      {"steps", trial.num_steps}, {"chunks", trial.chunks}, {"least_rounds", trial.least_rounds}};
  if (trial.num_rounds != 0) {
    json["rounds"] = trial.num_rounds;
    json["time_ns"] = trial.ns;
  }
  return json;
}

ordered_json summary_of(const StepsPlan& plan, uint64_t bytes) {
  ordered_json json{{"algorithm", plan.schedule.name},
                    {"ranks", plan.schedule.collective.num_ranks},
                    {"steps", ir::num_steps(plan.schedule)},
                    {"options", {{"chunks", plan.best.chunks}}},
                    {"bytes", bytes},
                    {"time_ns", plan.best.ns},
                    {"synchronous_steps", plan.best.num_steps},
                    {"least_synchronous_steps", plan.farthest.num_hops},
                    {"rounds", plan.best.num_rounds},
                    {"least_rounds", plan.best.least_rounds},
                    {"searches", plan.num_searches},
                    {"searches_cut_short", plan.num_cut_short},
                    {"tried", ordered_json::array()}};
  for (const StepsTrial& trial : plan.trials) json["tried"].push_back(to_json(trial));
  return json;
}

std::string notes_on(const StepsPlan& plan, const topo::Topology& topology, uint64_t bytes) {
  if (plan.best.num_steps == 0) return "";
  return fmt::format("Steps:  {}.\n", plan::steps::summary(plan, topology)) +
         fmt::format("Here:   {} take {} in simulation; chunks {}.\n", format_bytes(bytes),
                     format_ns(plan.best.ns), plan.best.chunks);
}

}  // namespace

Result<PlanAnswer> answer_steps(const Collective& collective, const topo::Topology& topology,
                                uint32_t chunks, uint64_t bytes) {
  TUTTI_ASSIGN(StepsPlan plan,
               plan::steps::plan_steps(collective, topology, {.bytes = bytes, .chunks = chunks}));
  std::string notes = notes_on(plan, topology, bytes);
  ordered_json summary = summary_of(plan, bytes);
  return PlanAnswer{std::move(plan.schedule), std::move(notes), std::move(summary)};
}

}  // namespace tutti::tools
