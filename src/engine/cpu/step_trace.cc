#include "engine/cpu/step_trace.h"

#include <algorithm>
#include <numeric>

#include "base/ticks.h"

namespace tutti::engine {
namespace {

uint32_t lane_of(const BoundProgram& program, uint32_t step_index) {
  const auto begins_after = [](uint32_t index, const ProgramLane& lane) {
    return index < lane.first_step;
  };
  const auto next =
      std::upper_bound(program.lanes.begin(), program.lanes.end(), step_index, begins_after);
  return static_cast<uint32_t>(next - program.lanes.begin()) - 1;
}

uint32_t index_of(const BoundProgram& program, const ProgramStep& step) {
  return static_cast<uint32_t>(&step - program.steps.data());
}

// Whom the step takes from, else whom it gives to.
uint32_t peer_of(const Operation& op, const ProgramStep& step) {
  const BoundProgram& program = *op.request.program;
  if (step.in == kNoLink && step.out == kNoLink) return trace::kNoPeer;
  const Link& link = step.in != kNoLink ? program.ins[step.in] : program.outs[step.out];
  return op.request.members[program.peers[link.peer].value].value;
}

uint64_t bytes_of(const Operation& op, const ProgramStep& step) {
  const BoundProgram& program = *op.request.program;
  if (kind_of(step) == ir::StepKind::kSend) {
    if (step.exported == kNoLink) return 0;
    const Export& mirrored = program.exports[step.exported];
    return op.mirrors[mirrored.buffer] == nullptr ? 0 : mirrored.bytes;  // else announced only
  }
  const auto first = program.pieces.begin() + step.first_piece;
  return std::accumulate(first, first + step.num_pieces, uint64_t{0},
                         [](uint64_t sum, const Piece& piece) { return sum + piece.bytes; });
}

}  // namespace

void StepTrace::begin(Operation& op, const ProgramStep& step) {
  const BoundProgram& program = *op.request.program;
  LaneTimes& times = op.lane_times[lane_of(program, index_of(program, step))];
  if (times.begun == 0) times.begun = base::ticks();
}

void StepTrace::end(Operation& op, const ProgramStep& step) {
  const BoundProgram& program = *op.request.program;
  const uint32_t index = index_of(program, step);
  const uint32_t lane = lane_of(program, index);
  LaneTimes& times = op.lane_times[lane];
  const uint64_t now = base::ticks();
  trace::Event event;
  event.rank = self_.value;
  event.lane = lane;
  event.step = index - program.lanes[lane].first_step;
  event.peer = peer_of(op, step);
  event.peer_lane = program.other_ends[index].lane;
  event.peer_step = program.other_ends[index].step;
  event.call = static_cast<uint32_t>(op.flight);
  event.op = static_cast<trace::Op>(step.kind);
  const uint64_t stood_since = times.ended == 0 ? op.issued : times.ended;
  if (step.in != kNoLink) {
    event.kind = trace::EventKind::kWait;
    event.begin = static_cast<int64_t>(stood_since);
    event.end = static_cast<int64_t>(times.begun);
    ring_.push(event);
  }
  event.kind = trace::EventKind::kStep;
  event.begin = static_cast<int64_t>(times.begun);
  event.end = static_cast<int64_t>(now);
  event.bytes = bytes_of(op, step);
  ring_.push(event);
  times = {0, now};
}

}  // namespace tutti::engine
