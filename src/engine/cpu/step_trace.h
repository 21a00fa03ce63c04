// What the steps of a rank's larger operations did and when, for traces of real runs. Operations
// that travel as packets are over in less time than writing their steps down would take: of those
// the flight recorder's times must do. Belongs to the engine, whose turn guards it.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/cpu/operation.h"
#include "engine/cpu/ports.h"
#include "trace/event_ring.h"

namespace tutti::engine {

class StepTrace {
 public:
  // The oldest steps make room for new ones.
  static constexpr uint32_t kSteps = 1u << 18;

  explicit StepTrace(Rank self) : self_(self), ring_(kSteps) {}

  // A lane begins a step, or goes on with it.
  void begin(Operation& op, const ProgramStep& step);
  // Writes down the step and, where the lane stood before it, that it waited.
  void end(Operation& op, const ProgramStep& step);

  // Times are base::ticks.
  [[nodiscard]] const trace::EventRing& ring() const { return ring_; }

 private:
  Rank self_;
  trace::EventRing ring_;
};

// Memory that tells when it was read.
class TracedMemoryPort : public MemoryPort {
 public:
  TracedMemoryPort(Operation& op, transport::Endpoint& endpoint)
      : MemoryPort(op, endpoint), op_(op) {}

  [[nodiscard]] bool move(const ProgramStep& step, Cursor& cursor) {
    op_.trace->begin(op_, step);
    return MemoryPort::move(step, cursor);
  }
  void finish(const ProgramStep& step) const {
    MemoryPort::finish(step);
    op_.trace->end(op_, step);
  }

 private:
  Operation& op_;
};

}  // namespace tutti::engine
