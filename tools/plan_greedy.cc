#include "tools/plan_greedy.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/try.h"
#include "plan/synth/greedy_plan.h"
#include "tools/interrupt.h"
#include "tools/terminal.h"

namespace tutti::tools {
namespace {

using nlohmann::ordered_json;
using plan::synth::GreedyOptions;
using plan::synth::GreedyPlan;

ordered_json summary_of(const GreedyPlan& plan, const GreedyOptions& options) {
  return {{"algorithm", plan.schedule.name},
          {"ranks", plan.schedule.collective.num_ranks},
          {"steps", ir::num_steps(plan.schedule)},
          {"options", {{"chunks", plan.chunks}, {"seed", options.seed}}},
          {"bytes", options.bytes},
          {"time_ns", plan.ns()},
          {"is_simulated", plan.simulated_ns > 0},
          {"planned_ns", plan.planned_ns},
          {"bound_ns", plan.bound_ns},
          {"ratio", plan.bound_ns > 0 ? plan.ns() / plan.bound_ns : 1.0},
          {"bound", plan.bound}};
}

std::string notes_on(const GreedyPlan& plan, uint64_t bytes) {
  if (plan.bound_ns == 0) return "";
  const double ratio = plan.ns() / plan.bound_ns;
  const double gbps = static_cast<double>(bytes) / plan.ns();
  return fmt::format("Greedy: {} steps, links filled for {}; chunks {}.\n",
                     ir::num_steps(plan.schedule), format_ns(plan.planned_ns), plan.chunks) +
         fmt::format("Bound:  at least {}: {}.\n", format_ns(plan.bound_ns), plan.bound) +
         (plan.simulated_ns > 0
              ? fmt::format("Here:   {} take {} in simulation, {}; {:.2f} times the bound.\n",
                            format_bytes(bytes), format_ns(plan.ns()), format_gbps(gbps), ratio)
              : fmt::format("Here:   {} take {} as planned (too many steps to simulate now; "
                            "tutti sim does), {:.2f} times the bound.\n",
                            format_bytes(bytes), format_ns(plan.ns()), ratio));
}

}  // namespace

Result<PlanAnswer> answer_greedy(const Collective& collective, const topo::Topology& topology,
                                 GreedyOptions options) {
  const Interrupt interrupt;
  ProgressLine line("synthesis");
  options.progress = [&](double done) {
    line.show_part(done);
    return !interrupt.came();
  };
  TUTTI_ASSIGN(GreedyPlan plan, plan::synth::plan_greedy(collective, topology, options));
  line.clear();
  std::string notes = notes_on(plan, options.bytes);
  ordered_json summary = summary_of(plan, options);
  return PlanAnswer{std::move(plan.schedule), std::move(notes), std::move(summary)};
}

}  // namespace tutti::tools
