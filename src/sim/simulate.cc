#include "sim/simulate.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/try.h"
#include "sim/connections.h"
#include "sim/critical_path.h"
#include "sim/lending.h"
#include "sim/machine.h"
#include "sim/payload.h"
#include "sim/program.h"
#include "sim/slots.h"

namespace tutti::sim {
namespace {

void report_times(const Program& program, const Machine& machine, const Execution& execution,
                  Report& report) {
  report.num_steps = program.num_steps();
  report.num_messages = execution.num_messages();
  report.message_bytes = execution.message_bytes();
  for (uint32_t r = 0; r < program.schedule().ranks.size(); ++r) {
    report.rank_finish_ns.push_back(machine.start_ns(Rank{r}));
  }
  for (uint32_t lane = 0; lane < program.lanes().size(); ++lane) {
    if (program.lanes()[lane].num_steps == 0) continue;
    double& finish_ns = report.rank_finish_ns[program.lanes()[lane].rank.value];
    finish_ns = std::max(finish_ns, execution.lane_finish_ns(lane));
    report.total_ns = std::max(report.total_ns, execution.lane_finish_ns(lane));
  }
}

void report_links(const Machine& machine, const Execution& execution, Report& report) {
  for (uint32_t l = 0; l < machine.link_gbps().size(); ++l) {
    const Flows::LinkTotals totals = execution.flows().totals(topo::LinkId{l});
    LinkUse use{.bytes = totals.bytes, .busy_ns = totals.busy_ns};
    if (report.total_ns > 0) {
      use.utilisation = totals.bytes / (machine.link_gbps()[l] * report.total_ns);
    }
    report.links.push_back(use);
  }
}

// The last step of the lane that finished last; of several, of the least.
StepNumber last_step(const Program& program, const Execution& execution) {
  StepNumber last = kNoStep;
  double finish_ns = -1;
  for (uint32_t lane = 0; lane < program.lanes().size(); ++lane) {
    const Program::Lane& steps = program.lanes()[lane];
    if (steps.num_steps == 0 || execution.lane_finish_ns(lane) <= finish_ns) continue;
    finish_ns = execution.lane_finish_ns(lane);
    last = steps.first + steps.num_steps - 1;
  }
  return last;
}

}  // namespace

std::string_view to_string(SliceKind kind) noexcept {
  switch (kind) {
    case SliceKind::kWait: return "wait";
    case SliceKind::kOverhead: return "overhead";
    case SliceKind::kLatency: return "latency";
    case SliceKind::kTransfer: return "transfer";
    case SliceKind::kReduce: return "reduce";
    case SliceKind::kCopy: return "copy";
  }
  return "unknown";
}

Result<Report> simulate(const ir::Schedule& schedule, const topo::Topology& topology,
                        const Options& options) {
  TUTTI_TRY(topo::check(topology));
  TUTTI_ASSIGN(const Program program, Program::create(schedule));
  TUTTI_ASSIGN(const Machine machine, Machine::create(schedule, topology, options));
  TUTTI_ASSIGN(Payload payload, Payload::create(program, options));

  const Execution::Parts parts{program, machine, payload, Recorder(program, options.trace)};
  std::optional<Connections> connections;
  std::unique_ptr<Execution> execution;
  switch (options.discipline) {
    case Discipline::kLending: execution = std::make_unique<Lending>(parts); break;
    case Discipline::kSlots:
      connections.emplace(program);
      execution = std::make_unique<Slots>(parts, *connections);
      break;
  }
  TUTTI_TRY(execution->run());

  Report report;
  report_times(program, machine, *execution, report);
  report_links(machine, *execution, report);
  report.waits = execution->waits().longest(options.max_waits);
  report.rank_wait_ns = execution->waits().rank_ns();
  const StepNumber last = last_step(program, *execution);
  if (options.with_critical_path && last != kNoStep) {
    const FinishedRun run{program, machine, execution->log(),
                          connections ? &*connections : nullptr};
    report.critical_path = critical_path(run, last);
  }
  if (options.with_bound) {
    report.bound = lower_bound(payload.layout(), payload.sizes(), options.elem_bytes, topology,
                               machine.link_gbps());
    if (report.bound.ns() > 0) report.ratio = report.total_ns / report.bound.ns();
  }
  return report;
}

}  // namespace tutti::sim
