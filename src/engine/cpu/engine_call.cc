// Small calls: a call that gives what it has and finds what it needs in the rings is over before it
// returns, and was never an operation that anybody has to look after.
#include "base/try.h"
#include "engine/cpu/engine.h"
#include "engine/cpu/pause.h"
#include "engine/cpu/straight_port.h"
#include "engine/cpu/turn.h"

namespace tutti::engine {

Result<Operation*> Engine::call(const Request& request, uint32_t looks) {
  const Turn turn(busy_);
  if (!may_go_straight(request)) return begin(request);
  Operation& op = *new_operation();
  op.request = request;
  TUTTI_TRY(prepare(op));  // which asks for no memory that could be spent
  note(op);
  if (go_straight(op, looks)) {
    complete(op);
    op.is_released.store(true, std::memory_order_relaxed);
    retired_.push_front(&op);
    return nullptr;
  }
  enlist(op);
  set_aside(op, run(op));
  return &op;
}

// Nothing was said about it before, and nothing about its group.
bool Engine::may_go_straight(const Request& request) const {
  return travels_in_packets(*request.program) && !any_lost_ && aborts_.empty() &&
         early_.find(request.id) == nullptr && operations_.find(request.id) == nullptr;
}

// Whether it is over. If not, it goes on as an operation from where it got to.
bool Engine::go_straight(Operation& op, uint32_t looks) {
  StraightPort port(op, endpoint_);
  const ProgramView program = op.request.program->view();
  const Lane<StraightPort> at{&program, op.cursors.data(), &port};
  // Liveness: every round moves a step or is one of the looks.
  for (;;) {
    bool is_over = true;
    bool moved = false;
    for (uint32_t lane = 0; lane < program.num_lanes; ++lane) {
      if (op.lanes[lane] == LaneState::kDone) continue;
      const uint32_t before = op.cursors[lane].step;
      op.lanes[lane] = run_lane(at, lane);
      moved |= op.cursors[lane].step != before;
      is_over &= op.lanes[lane] == LaneState::kDone;
    }
    if (is_over) break;
    if (moved) continue;
    if (looks-- == 0) return false;
    pause_briefly();
  }
  for (uint32_t out = 0; out < op.request.program->outs.size(); ++out) {
    if (!port.taken(static_cast<uint16_t>(out), 0)) return false;
  }
  return true;
}

}  // namespace tutti::engine
