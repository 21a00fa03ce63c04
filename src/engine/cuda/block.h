// What a block of a daemon does with the operations that have started: gives each its turns, by the
// rules of engine/task_queue.h, and sets aside what would wait.
#pragma once

#include "engine/cuda/daemon_state.h"
#include "engine/cuda/desk.h"
#include "engine/cuda/port.h"

namespace tutti::engine::cuda {

enum class Turn : uint8_t { kNone, kVain, kMoved };

// The caller learns of it; then the home may be used again at any time. What went well is one word:
// every word to the host costs as much as the operation.
TUTTI_BOTH inline void complete(const Context& context, Outcome outcome, uint32_t switches) {
  Completion& told = *context.issued.completion;
  if (outcome != Outcome::kDone) {
    told.member = context.failed_member;
    told.signature = context.failed_signature;
  }
  const uint32_t seen = switches < kMostSwitches ? switches : kMostSwitches;
  StreamWords* const stream = context.issued.stream;
  // Pairs with the acquire of whoever waits. What fails opens the gate too: a stream that stands
  // still for ever helps nobody.
  if (stream != nullptr) store_release_host(&stream->gate, context.issued.stream_value);
  store_release_host(&told.outcome, static_cast<uint32_t>(outcome) | seen << kSwitchShift);
}

template <class Machine>
class Block {
 public:
  TUTTI_BOTH Block(DaemonState& state, uint32_t index, Machine& machine)
      : state_(state),
        desk_(machine.desk()),
        queue_(machine.queue()),
        index_(index),
        machine_(machine) {
    Part* next = state.resting[index];
    state.resting[index] = nullptr;
    while (next != nullptr) {
      Part& part = *next;
      next = part.resting;
      add(part);
      part.patience = 1;
    }
  }

  TUTTI_BOTH void add(Part& part) {
    const Context& context = *part.context;
    queue_.start(part, context.issued.operation, context.stamp);
    part.is_agreed = true;
    queue_.add(part);
  }

  // Wide operations that the leader has published. Those that come are this block's if it has a
  // part in them.
  TUTTI_BOTH void take_in() {
    uint32_t& taken = state_.num_taken_in[index_];
    if (num_taken_ == load_relaxed(&state_.num_published)) return;
    // Pairs with the release of the leader.
    const uint32_t published = load_acquire(&state_.num_published);
    while (num_taken_ != published) {
      Context& home = *state_.published[num_taken_ % kPublished];
      const DeviceProgram& program = machine_.near(home.issued.program);
      if (index_ <= program.num_parts) open(home, program);
      // The place may be used again: pairs with the acquire of the leader.
      store_release(&taken, ++num_taken_);
    }
  }

  TUTTI_BOTH Turn turn() {
    if (queue_.size() == 0) return Turn::kNone;
    auto& part = static_cast<Part&>(*queue_.next());
    bool moved = false;
    machine_.mark(Stage::kLook);
    bool is_over = run(part, moved);
    queue_.ran(part, moved);
    machine_.mark(Stage::kRun);
    if (!moved && !is_over && load_relaxed(&state_.is_aborted) != 0) is_over = true;
    if (is_over) end(part);
    machine_.mark(Stage::kEnd);
    return moved || is_over ? Turn::kMoved : Turn::kVain;
  }

  [[nodiscard]] TUTTI_BOTH bool is_idle() const { return queue_.size() == 0; }

  // At the end of a launch: what is not over goes on in the next. Whose turn it was has the first
  // one there, so that nobody starves however short the launches are.
  TUTTI_BOTH void put_down() {
    Part** end = &state_.resting[index_];
    while (queue_.size() != 0) {
      auto& part = static_cast<Part&>(*queue_.next());
      queue_.remove(part);
      queue_.end(part);
      Part& home = rest(part, machine_.near(part.context->issued.program), machine_);
      home.resting = nullptr;
      *end = &home;
      end = &home.resting;
    }
  }

 private:
  TUTTI_BOTH void open(Context& home, const DeviceProgram& program) {
    DeskSlot* const slot = desk_.take(program);
    if (slot == nullptr) return add(open_part(home, program, index_ - 1, nullptr));
    const uint64_t bytes = sizeof(Context) + program.num_members * sizeof(PeerSide);
    machine_.copy(&slot->context, &home, bytes);
    slot->context.members = slot->members;
    add(open_part(slot->context, program, index_ - 1, slot));
  }

  // Whether all of the part is done.
  TUTTI_BOTH bool run(Part& part, bool& moved) {
    const DeviceProgram& program = machine_.near(part.context->issued.program);
    Port<Machine> port(part, program, machine_);
    const Lane<Port<Machine>> at{&program.view, part.cursors, &port};
    bool all_done = true;
    for (uint32_t i = 0; i < program.view.num_lanes; ++i) {
      const Cursor before = part.cursors[part.lane];
      const LaneState state = run_lane(at, part.lane);
      const Cursor& after = part.cursors[part.lane];
      moved = moved || after.step != before.step || after.piece != before.piece ||
              after.bytes != before.bytes;
      if (state == LaneState::kPreempted) return false;
      all_done = all_done && state == LaneState::kDone;
      part.lane = part.lane + 1 < program.view.num_lanes ? part.lane + 1 : 0;
    }
    if (!all_done || !port.all_is_taken()) return false;
    if (part.context->issued.signature.op != static_cast<uint8_t>(Op::kAvg)) return true;
    moved = true;
    return port.divide(program.view.steps[program.output_step], part.finish);
  }

  TUTTI_BOTH void end(Part& part) {
    Context& context = *part.context;
    const DeviceProgram& program = machine_.near(context.issued.program);
    queue_.remove(part);
    queue_.end(part);
    // Clean for its next use. Nobody writes here any more: all there was to come has been waited
    // for; and what was aborted is never used again.
    if (program.is_inline == 0) {
      for (uint32_t i = 0; i < program.num_words(); ++i) store_relaxed(part.words + i, 0);
    }
    const bool is_wide = program.num_parts > 1;
    const bool is_last = !is_wide || fetch_add(parts_left_of(context, program), UINT32_MAX) == 1;
    if (is_last) {
      const bool is_aborted = load_aborted();
      complete(context, is_aborted ? Outcome::kAborted : Outcome::kDone, part.switches);
      if (is_wide) fetch_add(&state_.num_over, 1);
    }
    if (DeskSlot* const slot = desk_.slot_of(context)) slot->is_used = 0;
  }

  // What ends while everything is aborted may or may not have been done.
  [[nodiscard]] TUTTI_BOTH bool load_aborted() const {
    return load_relaxed(&state_.is_aborted) != 0;
  }

  DaemonState& state_;
  Desk& desk_;
  TaskQueue& queue_;
  uint32_t index_;
  uint32_t num_taken_ = state_.num_taken_in[index_];
  Machine& machine_;
};

// Blocks 1 and up, until the leader says that all leave.
template <class Machine>
TUTTI_BOTH void run_worker(DaemonState& state, uint32_t launch, uint32_t index, Machine& machine) {
  Block<Machine> block(state, index, machine);
  // Liveness: the leader leaves after a bounded time, whatever its peers do, and says so.
  while (load_relaxed(&state.leaving) != launch) {
    block.take_in();
    if (block.turn() != Turn::kMoved) machine.pause();
  }
  block.put_down();
}

}  // namespace tutti::engine::cuda
