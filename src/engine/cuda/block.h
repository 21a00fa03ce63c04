// What a block of a daemon does with the operations that have started: gives each its turns, by the
// rules of engine/task_queue.h, and sets aside what would wait.
#pragma once

#include "engine/cuda/daemon_state.h"
#include "engine/cuda/desk.h"
#include "engine/cuda/port.h"
#include "engine/cuda/stall.h"
#include "engine/cuda/triggers.h"

namespace tutti::engine::cuda {

enum class Turn : uint8_t { kNone, kVain, kMoved };

// The caller learns of it. What went well is one word: every word to the host costs as much as the
// operation. What fails opens the gate too: a stream that stands still for ever helps nobody.
TUTTI_BOTH inline void tell_end(DaemonState& state, const Submission& issued, Outcome outcome,
                                uint32_t switches) {
  const uint32_t seen = switches < kMostSwitches ? switches : kMostSwitches;
  // Pairs with the acquire of whoever waits.
  fence_before_host_signals();
  if (StreamWords* const stream = issued.stream) {
    add_host_signal(&stream->gate, 1);
    add_relaxed(&state.num_streamed_over, 1);
  }
  store_host_signal(&issued.completion->outcome,
                    static_cast<uint32_t>(outcome) | seen << kSwitchShift);
}

// Then the home may be used again at any time.
TUTTI_BOTH inline void complete(DaemonState& state, const Context& context, Outcome outcome,
                                uint32_t switches, const Stall* stall = nullptr) {
  if (context.issued.prepared != nullptr) return end_triggered(state, context, outcome, stall);
  Completion& told = *context.issued.completion;
  if (outcome != Outcome::kDone) tell(told, context, stall);
  tell_end(state, context.issued, outcome, switches);
}

// What went well, of which nothing is told but that.
TUTTI_BOTH inline void complete_well(DaemonState& state, const Submission& issued) {
  if (issued.prepared != nullptr) return tell_trigger_over(state, *issued.prepared);
  tell_end(state, issued, Outcome::kDone, 0);
}

// All of a fold but where it reads and writes.
TUTTI_BOTH inline void prepare_sum(Fold& tile, const transport::Signature& signature,
                                   uint32_t num_members) {
  tile.num_dsts = 1;
  tile.type = signature.type;
  tile.op = signature.op;
  tile.is_scaled = signature.op == static_cast<uint8_t>(Op::kPremulSum) ? 1 : 0;
  tile.divisor = signature.op == static_cast<uint8_t>(Op::kAvg) ? num_members : 0;
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
    adopt(index);
  }

  // What a block, this one or one that is not there, has put down.
  TUTTI_BOTH void adopt(uint32_t index) {
    Part* next = state_.resting[index];
    state_.resting[index] = nullptr;
    while (next != nullptr) {
      Part& part = *next;
      next = part.resting;
      add(part);
      part.patience = 1;
    }
  }
  // What a worker that is not there has not taken in.
  TUTTI_BOTH void take_in_for(uint32_t index) {
    uint32_t taken = state_.num_taken_in[index];
    for (; taken != state_.num_published; ++taken) {
      const Published& it = state_.published[taken % kPublished];
      if (index > it.num_parts) continue;
      const DeviceProgram& program = machine_.near(it.home->issued);
      add(open_part(*it.home, program, index - 1, nullptr));
    }
    state_.num_taken_in[index] = taken;
  }

  TUTTI_BOTH void add(Part& part) {
    const Context& context = *part.context;
    queue_.start(part, context.issued.operation, context.stamp);
    part.is_agreed = true;
    queue_.add(part);
  }

  // Wide operations that the leader has published. Those that come are this block's if it has a
  // part in them. Whether there were any.
  TUTTI_BOTH bool take_in() {
    uint32_t& taken = state_.num_taken_in[index_];
    if (num_taken_ == load_relaxed(&state_.num_published)) return false;
    // Pairs with the release of the leader.
    const uint32_t published = load_acquire(&state_.num_published);
    while (num_taken_ != published) {
      const Published& it = state_.published[num_taken_ % kPublished];
      if (index_ <= it.num_parts) {
        const DeviceProgram& program = machine_.near(it.home->issued);
        if (it.is_passed != 0) pass(*it.home, program, index_ - 1);
        if (it.is_passed == 0) open(*it.home, program);
      }
      // The place may be used again: pairs with the acquire of the leader.
      store_release(&taken, ++num_taken_);
    }
    return true;
  }

  TUTTI_BOTH Turn turn() {
    if (queue_.size() == 0) return Turn::kNone;
    auto& part = static_cast<Part&>(*queue_.next());
    bool moved = false;
    machine_.mark(Stage::kLook);
    bool is_over = run(part, moved);
    queue_.ran(part, moved);
    machine_.mark(Stage::kRun);
    if (moved) part.num_vain = 0;
    if (!moved && !is_over) is_over = gives_up(part);
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
      Part& home = rest(part, machine_.near(part.context->issued), machine_);
      home.resting = nullptr;
      *end = &home;
      end = &home.resting;
    }
  }

 private:
  static constexpr uint32_t kLooksPerClock = 32;  // by a part that waits

  TUTTI_BOTH void open(Context& home, const DeviceProgram& program) {
    DeskSlot* const slot = desk_.take(program);
    if (slot == nullptr) return add(open_part(home, program, index_ - 1, nullptr));
    const uint64_t bytes = sizeof(Context) + program.num_members * sizeof(PeerSide);
    machine_.copy(&slot->context, &home, bytes);
    slot->context.members = slot->members;
    add(open_part(slot->context, program, index_ - 1, slot));
  }

  // A part of an operation of a few passes, of which the leader has written the record: moves all
  // that it moves, and waits a moment for what members tell. If that does not come, what is left to
  // do is done as in any other operation.
  TUTTI_BOTH void pass(Context& home, const DeviceProgram& program, uint32_t index) {
    const uint32_t num_words = num_record_words(program.num_places, program.num_notices);
    const uint64_t* const record = machine_.near_record(
        at_home<const uint64_t>(home, program.homes.record), num_words * sizeof(uint64_t));
    TUTTI_NO_UNROLL
    for (uint32_t i = 0; i < program.num_passes; ++i) move_pass(program, index, i, record);
    tell_members(program, index, record + 1 + 2 * program.num_places);
    const bool is_average = (record[0] >> 8) == static_cast<uint64_t>(Op::kAvg);
    if (!is_average && is_told(home, program, index)) return end_pass(home, program, index);
    Part& part = open_part(home, program, index, nullptr);
    skip_moved(part, program);
    add(part);
  }
  TUTTI_BOTH void move_pass(const DeviceProgram& program, uint32_t index, uint32_t i,
                            const uint64_t* record) {
    const Pass& what = program.passes[i];
    const uint64_t begin = index * program.part_bytes;
    if (begin >= what.bytes) return;
    const uint64_t left = what.bytes - begin;
    Fold& fold = machine_.tile();
    fold.type = static_cast<uint8_t>(record[0]);
    fold.op = static_cast<uint8_t>(record[0] >> 8);
    fold.is_scaled = fold.op == static_cast<uint8_t>(Op::kPremulSum) ? 1 : 0;
    fold.divisor = 0;
    fold.bytes = left < program.part_bytes ? left : program.part_bytes;
    fold.num_sources = static_cast<uint8_t>(what.num_sources);
    fold.num_dsts = static_cast<uint8_t>(what.num_dsts);
    const uint64_t* const places = record + 1 + what.first_place;
    TUTTI_NO_UNROLL
    for (uint32_t s = 0; s < what.num_sources; ++s) {
      fold.sources[s] = reinterpret_cast<const std::byte*>(places[s] + begin);
    }
    if (fold.is_scaled != 0)
      copy_words(fold.factors, places + program.num_places, what.num_sources * sizeof(double));
    TUTTI_NO_UNROLL
    for (uint32_t t = 0; t < what.num_dsts; ++t) {
      fold.dsts[t] = reinterpret_cast<std::byte*>(places[what.num_sources + t] + begin);
    }
    drop_idle(fold);
    if (fold.num_dsts != 0) machine_.fold();
  }
  TUTTI_BOTH void tell_members(const DeviceProgram& program, uint32_t index,
                               const uint64_t* words) const {
    // Pairs with the acquire of whoever waits for them.
    fence_before_signals();
    TUTTI_NO_UNROLL
    for (uint32_t n = 0; n < program.num_notices; ++n) {
      auto* const first = reinterpret_cast<uint32_t*>(words[n]);
      const uint64_t stride = words[program.num_notices + n];
      store_signal(first + index * stride, program.notices[n].number);
    }
  }
  // Whether all has come that the part waits for, in a moment.
  [[nodiscard]] TUTTI_BOTH bool is_told(const Context& home, const DeviceProgram& program,
                                        uint32_t index) const {
    constexpr uint32_t kLooks = 64;
    const uint32_t num_words = program.num_words();
    const uint32_t* const words = words_of(home, program) + index * num_words;
    TUTTI_NO_UNROLL
    for (uint32_t look = 0; look < kLooks; ++look) {
      bool is_all = true;
      for (uint32_t w = 0; w < num_words; ++w) {
        is_all = (load_signal(words + w) >= program.awaited[w]) && is_all;
      }
      if (!is_all) continue;
      // Acquires what members have written, or read.
      fence_after_signals();
      return true;
    }
    return false;
  }
  TUTTI_BOTH void end_pass(Context& home, const DeviceProgram& program, uint32_t index) {
    const uint32_t num_words = program.num_words();
    uint32_t* const words = words_of(home, program) + index * num_words;
    TUTTI_NO_UNROLL
    for (uint32_t w = 0; w < num_words; ++w) store_relaxed(words + w, 0);
    Closing& closing = closing_of(home, program);
    // Acquires what parts that have ended have told.
    if (fetch_add(&closing.parts_left, UINT32_MAX) != 1) return;
    tell_over(home, closing, load_relaxed(&closing.num_late) != 0, 0);
    fetch_add(&state_.num_over, 1);
  }
  // By the last part of an operation: others may have been given up.
  TUTTI_BOTH void tell_over(const Context& context, const Closing& closing, bool is_late,
                            uint32_t switches) {
    const Outcome outcome = is_aborted(context) ? Outcome::kAborted
                            : is_late           ? Outcome::kDeadline
                                                : Outcome::kDone;
    complete(state_, context, outcome, switches, is_late ? &closing.stall : nullptr);
  }

  // Whether all of the part is done.
  TUTTI_BOTH bool run(Part& part, bool& moved) {
    const DeviceProgram& program = machine_.near(part.context->issued);
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
    const DeviceProgram& program = machine_.near(context.issued);
    queue_.remove(part);
    queue_.end(part);
    if (part.is_late != 0) note_stall(part, program);
    // Clean for its next use. Nobody writes here any more: all there was to come has been waited
    // for; and what was aborted or late is never used again.
    if (program.is_inline == 0) {
      for (uint32_t i = 0; i < program.num_words(); ++i) store_relaxed(part.words + i, 0);
    }
    const bool is_wide = program.num_parts > 1;
    Closing& closing = closing_of(context, program);
    // Acquires what parts that have ended have told.
    const bool is_last = !is_wide || fetch_add(&closing.parts_left, UINT32_MAX) == 1;
    if (is_last) {
      const bool is_late = is_wide ? load_relaxed(&closing.num_late) != 0 : part.is_late != 0;
      tell_over(context, closing, is_late, part.switches);
      if (is_wide) fetch_add(&state_.num_over, 1);
    }
    if (DeskSlot* const slot = desk_.slot_of(context)) slot->is_used = 0;
  }

  // Whether a part that waits is not to wait any more.
  TUTTI_BOTH bool gives_up(Part& part) {
    if (is_aborted(*part.context)) return true;
    if (++part.num_vain % kLooksPerClock != 0) return false;
    part.is_late = machine_.now_ns() >= part.context->deadline_ns ? 1 : 0;
    return part.is_late != 0;
  }
  TUTTI_BOTH void note_stall(Part& part, const DeviceProgram& program) {
    Closing& closing = closing_of(*part.context, program);
    const bool is_first = program.num_parts == 1 || fetch_add(&closing.num_late, 1) == 0;
    if (is_first) closing.stall = find_stall(part, program, machine_);
  }

  // What ends while its group is aborted may or may not have been done.
  [[nodiscard]] TUTTI_BOTH bool is_aborted(const Context& context) const {
    return load_relaxed(&state_.aborted[context.issued.group]) != 0;
  }

  DaemonState& state_;
  Desk& desk_;
  TaskQueue& queue_;
  uint32_t index_;
  uint32_t num_taken_ = state_.num_taken_in[index_];
  Machine& machine_;
};

// Blocks 1 and up, until the leader says that they leave.
template <class Machine>
TUTTI_BOTH void run_worker(DaemonState& state, uint32_t launch, uint32_t index, Machine& machine) {
  const auto is_wanted = [&] { return is_earlier(load_relaxed(&state.workers_leaving), launch); };
  // Pairs with the leader's look in take_over: either it sees this block, or this block sees that
  // it is not wanted, and touches nothing.
  fetch_add(&state.num_present, 1);
  if (is_wanted()) {
    store_relaxed(&state.workers_here, launch);
    uint32_t num_moves = state.num_moves[index];
    Block<Machine> block(state, index, machine);
    // Liveness: the leader says so when there is no work or no way on, and before it leaves. Blocks
    // that come when later ones have been told to leave already are not needed either.
    while (is_wanted()) {
      const bool has_taken = block.take_in();
      if (block.turn() == Turn::kMoved || has_taken) {
        store_relaxed(&state.num_moves[index], ++num_moves);
      } else {
        machine.pause();
      }
    }
    block.put_down();
  }
  // What was put down is the leader's to take: pairs with the same.
  fetch_add(&state.num_present, UINT32_MAX);
}

}  // namespace tutti::engine::cuda
