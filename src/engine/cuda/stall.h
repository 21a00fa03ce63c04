// What a part of an operation waits for: said when its time is over.
#pragma once

#include "engine/cuda/port.h"

namespace tutti::engine::cuda {

// A message that a step needs, or what it sent before and was not taken; kDone: neither.
template <class Machine>
[[nodiscard]] TUTTI_BOTH LaneState look_at_step(const Lane<Port<Machine>>& at,
                                                const ProgramStep& step, uint16_t& link,
                                                uint32_t& number) {
  const LaneState state = blocker_of(at, step);
  if (state == LaneState::kNoMessage) {
    link = step.in;
    number = step.in_number;
    return state;
  }
  if (state != LaneState::kNotTaken) return LaneState::kDone;
  TUTTI_NO_UNROLL
  for (uint32_t i = 0; i < step.num_deps; ++i) {
    const ProgramDep& dep = at.program->deps[step.first_dep + i];
    if (dep.out == kNoLink || at.port->released(dep)) continue;
    link = dep.out;
    number = dep.number;
    return state;
  }
  return LaneState::kDone;
}

// The first lane that waits for a peer; others wait for it. If none does, all are done and what was
// sent is not all taken.
template <class Machine>
[[nodiscard]] TUTTI_BOTH Stall find_stall(Part& part, const DeviceProgram& program,
                                          Machine& machine) {
  Port<Machine> port(part, program, machine);
  const Lane<Port<Machine>> at{&program.view, part.cursors, &port};
  Stall stall{};
  const auto fill = [&](Missing missing, uint32_t link, uint32_t number) {
    const bool is_receipt = missing == Missing::kReceipt;
    const DeviceLink& wire = is_receipt ? program.outs[link] : program.ins[link];
    stall.missing = static_cast<uint32_t>(missing);
    stall.member = program.peer_members[wire.peer];
    stall.expected = number + 1;
    stall.seen = load_relaxed(part.words + (is_receipt ? link : program.num_outs + link));
  };
  TUTTI_NO_UNROLL
  for (uint32_t lane = 0; lane < program.view.num_lanes; ++lane) {
    const ProgramLane& steps = program.view.lanes[lane];
    stall.lane = lane;
    stall.step = part.cursors[lane].step;
    if (stall.step == steps.num_steps) continue;
    uint16_t link = 0;
    uint32_t number = 0;
    const LaneState state =
        look_at_step(at, program.view.steps[steps.first_step + stall.step], link, number);
    if (state == LaneState::kDone) continue;
    fill(state == LaneState::kNoMessage ? Missing::kMessage : Missing::kReceipt, link, number);
    return stall;
  }
  TUTTI_NO_UNROLL
  for (uint32_t out = 0; out < program.num_outs; ++out) {
    const uint32_t owed = program.outs[out].owed;
    if (owed != 0 && load_relaxed(part.words + out) < owed) fill(Missing::kReceipt, out, owed - 1);
  }
  return stall;
}

}  // namespace tutti::engine::cuda
