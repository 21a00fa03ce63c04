// The interpreter of one lane: runs steps until it would wait, and says on what. It never blocks
// and keeps nothing but the cursor, so a collective that waits is set aside by returning, and
// resumed by calling again. The same code runs on CPU threads and in a GPU kernel: what differs is
// the Port.
//
// A Port knows one running operation:
//   bool arrived(in, number)     the message was sent and can be read now
//   bool released(dep)           what the step sent (if it did) may be overwritten
//   bool has_room(step)          the step can send (or does not)
//   bool may_write(step)         the output may be written: all signatures are known to agree
//   bool move(step, cursor)      moves bytes from the cursor on; true when the step has moved all
//   void finish(step)            tells the peers: the message was taken, the next one is there
#pragma once

#include <cstdint>

#include "engine/both.h"
#include "engine/program.h"

namespace tutti::engine {

// Where a lane stands. All that is needed to go on.
struct Cursor {
  uint32_t step = 0;   // in its lane
  uint32_t piece = 0;  // of the step
  uint64_t bytes = 0;  // moved of the piece
};

enum class LaneState : uint8_t {
  kDone,
  kPreempted,   // could go on: a tile is moved, or every point is taken
  kNoMessage,   // waits for a message
  kNoRoom,      // waits for room to send
  kNotTaken,    // waits until a message it sent earlier was taken
  kDependency,  // waits for another lane of the same rank
  kUnchecked,   // waits until every rank's signature is known
};

template <class Port>
struct Lane {
  const ProgramView* program;
  Cursor* cursors;  // of all lanes
  Port* port;
};

template <class Port>
TUTTI_BOTH LaneState dependency_of(const Lane<Port>& at, const ProgramStep& step) {
  for (uint32_t i = 0; i < step.num_deps; ++i) {
    const ProgramDep& dep = at.program->deps[step.first_dep + i];
    if (at.cursors[dep.lane].step <= dep.step) return LaneState::kDependency;
    if (dep.out != kNoLink && !at.port->released(dep)) return LaneState::kNotTaken;
  }
  return LaneState::kDone;
}

// What keeps a step from starting; kDone when nothing does.
template <class Port>
TUTTI_BOTH LaneState blocker_of(const Lane<Port>& at, const ProgramStep& step) {
  if (const LaneState state = dependency_of(at, step); state != LaneState::kDone) return state;
  if (step.in != kNoLink && !at.port->arrived(step.in, step.in_number)) {
    return LaneState::kNoMessage;
  }
  if (!at.port->has_room(step)) return LaneState::kNoRoom;
  return at.port->may_write(step) ? LaneState::kDone : LaneState::kUnchecked;
}

template <class Port>
TUTTI_BOTH LaneState run_lane(const Lane<Port>& at, uint32_t lane) {
  Cursor& cursor = at.cursors[lane];
  const ProgramLane steps = at.program->lanes[lane];
  while (cursor.step < steps.num_steps) {
    const ProgramStep& step = at.program->steps[steps.first_step + cursor.step];
    // A step that has begun had all it needs, and keeps it.
    const bool has_begun = cursor.piece != 0 || cursor.bytes != 0;
    if (!has_begun) {
      if (const LaneState state = blocker_of(at, step); state != LaneState::kDone) return state;
    }
    if (!at.port->move(step, cursor)) return LaneState::kPreempted;
    at.port->finish(step);
    cursor = {cursor.step + 1, 0, 0};
    if (kPreemptAlways && cursor.step < steps.num_steps) return LaneState::kPreempted;
  }
  return LaneState::kDone;
}

}  // namespace tutti::engine
