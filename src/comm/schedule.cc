// include/tutti/schedule.h over src/ir, src/plan and src/verify.
#include "tutti/schedule.h"

#include "base/try.h"
#include "comm/schedule_file.h"
#include "ir/msccl/plan_json.h"
#include "ir/msccl/xml.h"
#include "ir/schedule.h"
#include "ir/text.h"
#include "plan/algorithm.h"
#include "plan/select.h"
#include "topo/topology.h"
#include "verify/check.h"

namespace tutti {
namespace {

Schedule wrap(ir::Schedule schedule) {
  return Schedule(std::make_shared<const ir::Schedule>(std::move(schedule)));
}

}  // namespace

Result<Schedule> Schedule::read(const std::string& path) {
  TUTTI_ASSIGN(ir::Schedule schedule, comm::read_schedule(path));
  return wrap(std::move(schedule));
}

Result<Schedule> Schedule::parse(std::string_view text, std::string source_name) {
  TUTTI_ASSIGN(ir::Schedule schedule, comm::parse_schedule(text, std::move(source_name)));
  return wrap(std::move(schedule));
}

const std::string& Schedule::algorithm() const { return data_->name; }
const Collective& Schedule::collective() const { return data_->collective; }
uint64_t Schedule::num_steps() const { return ir::num_steps(*data_); }
std::string Schedule::to_json() const { return ir::to_text(*data_); }
Result<std::string> Schedule::to_msccl_xml() const { return ir::msccl::to_xml(*data_); }
Result<std::string> Schedule::to_mscclpp_json() const { return ir::msccl::to_plan_json(*data_); }

std::vector<AlgorithmInfo> algorithms() {
  std::vector<AlgorithmInfo> list;
  for (const plan::Algorithm& a : plan::algorithms()) {
    list.push_back({a.kind, a.name, a.idea, a.cost});
  }
  return list;
}

Result<Schedule> Schedule::plan(const Collective& collective, std::string_view algorithm,
                                const PlanOptions& options) {
  TUTTI_ASSIGN(ir::Schedule schedule,
               tutti::plan::make(collective, algorithm,
                                 {options.chunks, options.radix, options.group_size}));
  return wrap(std::move(schedule));
}

Result<Choice> Schedule::plan_fastest(const Collective& collective, const Topology& topology,
                                      uint64_t bytes) {
  TUTTI_ASSIGN(tutti::plan::Selection selection,
               tutti::plan::select(collective, topology.graph(), bytes));
  const double time_ns = selection.candidates.front().ns;
  return Choice{wrap(std::move(selection.schedule)), time_ns, std::move(selection.why)};
}

Result<VerifiedSchedule> Schedule::verify() const {
  TUTTI_ASSIGN(tutti::verify::VerifiedSchedule proved, tutti::verify::check(*data_).result());
  auto kept = std::make_shared<const tutti::verify::VerifiedSchedule>(std::move(proved));
  // Proof and value share the steps.
  return VerifiedSchedule(Schedule({kept, &kept->schedule()}), kept);
}

}  // namespace tutti
