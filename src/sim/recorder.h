// Writes what happens into a trace, when there is one. Its ticks are picoseconds.
#pragma once

#include <cmath>
#include <cstdint>

#include "ir/step.h"
#include "sim/program.h"
#include "trace/trace.h"

namespace tutti::sim {

class Recorder {
 public:
  static constexpr uint32_t kTicksPerNs = 1000;

  // Without a trace every call is a single test.
  Recorder(const Program& program, trace::Trace* trace) : program_(&program), trace_(trace) {
    if (trace_ == nullptr) return;
    *trace_ = {};
    trace_->schedule = program.schedule().name;
    trace_->num_ranks = program.schedule().collective.num_ranks;
    trace_->ticks_per_ns = kTicksPerNs;
  }

  void step(StepNumber step, double begin_ns, double end_ns, double bytes) {
    if (trace_ == nullptr) return;
    trace::Event event = make(trace::EventKind::kStep, step, begin_ns, end_ns);
    event.bytes = static_cast<uint64_t>(bytes);
    if (program_->sender(step) != kNoStep) {
      set_peer(event, program_->sender(step));
    } else if (program_->taker(step) != kNoStep) {
      set_peer(event, program_->taker(step));
    }
    trace_->events.push_back(event);
  }

  void wait(StepNumber step, StepNumber partner, double begin_ns, double end_ns) {
    if (trace_ == nullptr || end_ns <= begin_ns) return;
    trace::Event event = make(trace::EventKind::kWait, step, begin_ns, end_ns);
    set_peer(event, partner);
    trace_->events.push_back(event);
  }

  void message(StepNumber sender, double handed_over_ns, double arrived_ns, double bytes) {
    if (trace_ == nullptr) return;
    trace::Event event = make(trace::EventKind::kMessage, sender, handed_over_ns, arrived_ns);
    event.bytes = static_cast<uint64_t>(bytes);
    set_peer(event, program_->taker(sender));
    trace_->events.push_back(event);
  }

 private:
  static int64_t ticks(double ns) { return std::llround(ns * kTicksPerNs); }

  [[nodiscard]] trace::Event make(trace::EventKind kind, StepNumber step, double begin_ns,
                                  double end_ns) const {
    trace::Event event;
    event.kind = kind;
    event.op = static_cast<trace::Op>(program_->step(step).kind);
    event.begin = ticks(begin_ns);
    event.end = ticks(end_ns);
    event.rank = program_->rank_of(step).value;
    event.lane = program_->ref(step).lane;
    event.step = program_->ref(step).step;
    return event;
  }

  void set_peer(trace::Event& event, StepNumber partner) const {
    event.peer = program_->rank_of(partner).value;
    event.peer_lane = program_->ref(partner).lane;
    event.peer_step = program_->ref(partner).step;
  }

  const Program* program_;
  trace::Trace* trace_;
};

// Traces name steps by ops of their own; the two lists are one.
static_assert(static_cast<int>(trace::Op::kCopy) == static_cast<int>(ir::StepKind::kCopy) &&
              static_cast<int>(trace::Op::kSend) == static_cast<int>(ir::StepKind::kSend) &&
              static_cast<int>(trace::Op::kRecvReduce) ==
                  static_cast<int>(ir::StepKind::kRecvReduce) &&
              static_cast<int>(trace::Op::kRecvReduceCopySend) ==
                  static_cast<int>(ir::StepKind::kRecvReduceCopySend) &&
              trace::kNumOps == ir::kNumStepKinds);

}  // namespace tutti::sim
