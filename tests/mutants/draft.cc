#include "tests/mutants/draft.h"

#include <map>

namespace tutti::mutants {
namespace {

ir::Step with_blanks(ir::Step step) {
  const bool has_data = step.num_chunks > 0;
  if (!ir::reads_src(step.kind) || !has_data) {
    step.src_buffer = ir::Buffer::kInput;
    step.src_index = 0;
  }
  if (!ir::writes_dst(step.kind) || !has_data) {
    step.dst_buffer = ir::Buffer::kInput;
    step.dst_index = 0;
  }
  if (!ir::receives(step.kind)) step.recv_peer = kNoRank;
  if (!ir::sends(step.kind)) step.send_peer = kNoRank;
  step.first_dep = 0;
  step.num_deps = 0;
  return step;
}

}  // namespace

Draft::Draft(const ir::Schedule& schedule) : head(schedule) {
  for (const ir::RankProgram& program : schedule.ranks) {
    std::map<ir::StepRef, uint32_t> id_of;
    for (uint32_t lane = 0; lane < program.lanes.size(); ++lane) {
      for (uint32_t i = 0; i < program.lanes[lane].steps.size(); ++i) id_of[{lane, i}] = next_id++;
    }
    std::vector<DraftLane> lanes;
    for (uint32_t lane = 0; lane < program.lanes.size(); ++lane) {
      lanes.push_back({program.lanes[lane].channel, {}});
      for (uint32_t i = 0; i < program.lanes[lane].steps.size(); ++i) {
        const ir::Step& step = program.lanes[lane].steps[i];
        DraftStep draft{step, id_of[{lane, i}], {}};
        for (ir::StepRef dep : program.deps_of(step)) draft.after.push_back(id_of[dep]);
        lanes.back().steps.push_back(draft);
      }
    }
    ranks.push_back(std::move(lanes));
  }
}

ir::Schedule Draft::to_schedule() const {
  ir::Schedule schedule = head;
  for (uint32_t r = 0; r < ranks.size(); ++r) {
    std::map<uint32_t, ir::StepRef> ref_of;
    for (uint32_t lane = 0; lane < ranks[r].size(); ++lane) {
      for (uint32_t i = 0; i < ranks[r][lane].steps.size(); ++i) {
        ref_of[ranks[r][lane].steps[i].id] = {lane, i};
      }
    }
    ir::RankProgram& program = schedule.ranks[r];
    program.lanes.clear();
    program.deps.clear();
    for (const DraftLane& lane : ranks[r]) {
      program.lanes.push_back({lane.channel, {}});
      for (const DraftStep& draft : lane.steps) {
        ir::Step step = with_blanks(draft.step);
        const auto first = static_cast<uint32_t>(program.deps.size());
        for (uint32_t id : draft.after) {
          if (ref_of.contains(id)) program.deps.push_back(ref_of[id]);
        }
        step.num_deps = static_cast<uint32_t>(program.deps.size()) - first;
        step.first_dep = step.num_deps > 0 ? first : 0;
        program.lanes.back().steps.push_back(step);
      }
    }
  }
  return schedule;
}

}  // namespace tutti::mutants
