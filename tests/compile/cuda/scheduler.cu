// The interpreter of a lane and the scheduler above it, in a kernel: that they compile for a GPU.
// Each block runs the operations of its own queue, as a daemon kernel would.
#include <cstdint>

#include "engine/step.h"
#include "engine/task_queue.h"

namespace {

using namespace tutti::engine;

// A port on which everything is there and nothing has to be moved.
struct IdlePort {
  TUTTI_BOTH bool arrived(uint16_t /*in*/, uint32_t /*number*/) const { return true; }
  TUTTI_BOTH bool released(const ProgramDep& /*dep*/) const { return true; }
  TUTTI_BOTH bool has_room(const ProgramStep& /*step*/) const { return true; }
  TUTTI_BOTH bool may_write(const ProgramStep& /*step*/) const { return true; }
  TUTTI_BOTH bool move(const ProgramStep& /*step*/, Cursor& /*cursor*/) const { return true; }
  TUTTI_BOTH void finish(const ProgramStep& /*step*/) const {}
};

struct Operation : Task {
  ProgramView program;
  Cursor cursor;
  uint32_t stamp_of_peer;
};

}  // namespace

__global__ void run_operations(Operation* operations, uint32_t num, uint64_t* switches) {
  TaskQueue queue({8, 32});
  StampClock clock;
  for (uint32_t i = 0; i < num; ++i) {
    queue.start(operations[i], i, clock.issue());
    clock.hear(operations[i], operations[i].stamp_of_peer);
    queue.agree(operations[i]);
    queue.add(operations[i]);
  }
  IdlePort port;
  while (queue.size() > 0) {
    auto& op = static_cast<Operation&>(*queue.next());
    const Lane<IdlePort> at{&op.program, &op.cursor, &port};
    const uint32_t before = op.cursor.step;
    const LaneState state = run_lane(at, 0);
    queue.ran(op, op.cursor.step != before);
    if (state != LaneState::kDone) continue;
    queue.remove(op);
    queue.end(op);
  }
  *switches = queue.switches();
}
