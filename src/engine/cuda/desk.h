// Where a block has the operations it works on: fast memory, for a few of them. What does not fit
// is worked on at home, with the same result. At the end of a launch everything goes home.
#pragma once

#include "engine/cuda/context.h"

namespace tutti::engine::cuda {

inline constexpr uint32_t kDeskSlots = 4;
inline constexpr uint32_t kDeskMembers = 16;
inline constexpr uint32_t kDeskLanes = 24;

struct DeskSlot {
  Context context;
  PeerSide members[kDeskMembers];  // behind the context, as at home
  Part part;
  Cursor cursors[kDeskLanes];
  uint32_t is_used;
  uint32_t unused[3];
};

class Desk {
 public:
  // No slot is used.
  TUTTI_BOTH void clear() {
    for (DeskSlot& slot : slots_) slot.is_used = 0;
  }

  // Null: it does not fit, or there is no room.
  [[nodiscard]] TUTTI_BOTH DeskSlot* take(const DeviceProgram& program) {
    if (program.num_members > kDeskMembers || program.view.num_lanes > kDeskLanes) return nullptr;
    for (DeskSlot& slot : slots_) {
      if (slot.is_used != 0) continue;
      slot.is_used = 1;
      return &slot;
    }
    return nullptr;
  }
  // The slot that a context is on; null: it is at home.
  [[nodiscard]] TUTTI_BOTH DeskSlot* slot_of(const Context& context) {
    for (DeskSlot& slot : slots_) {
      if (&slot.context == &context) return &slot;
    }
    return nullptr;
  }

 private:
  DeskSlot slots_[kDeskSlots];
};

// The context at its home, with all that is known of its members, which lie behind it.
template <class Machine>
TUTTI_BOTH void bring_home(const Context& context, const DeviceProgram& program, Machine& machine) {
  Context& home = *context.home;
  if (&home == &context) return;
  machine.copy(&home, &context, sizeof(Context) + program.num_members * sizeof(PeerSide));
  home.members = at_home<PeerSide>(context, program.homes.members);
}

// The part of a block, as it is at the beginning; on the slot, or (null) at home. `context` is
// where the slot is, or home.
[[nodiscard]] TUTTI_BOTH inline Part& open_part(Context& context, const DeviceProgram& program,
                                                uint32_t index, DeskSlot* slot) {
  const uint32_t num_lanes = program.view.num_lanes;
  Part& part = slot != nullptr ? slot->part : at_home<Part>(context, program.homes.parts)[index];
  part.context = &context;
  part.cursors = slot != nullptr
                     ? slot->cursors
                     : at_home<Cursor>(context, program.homes.cursors) + index * num_lanes;
  part.words = words_of(context, program) + index * program.num_words();
  part.finish = {};
  part.index = index;
  part.lane = 0;
  part.num_vain = 0;
  part.is_late = 0;
  for (uint32_t i = 0; i < num_lanes; ++i) part.cursors[i] = {};
  return part;
}

// Of a part that has moved all that it moves, and told so: what is left of its lanes waits.
TUTTI_BOTH inline void skip_moved(Part& part, const DeviceProgram& program) {
  for (uint32_t i = 0; i < program.view.num_lanes; ++i) {
    const ProgramLane& lane = program.view.lanes[i];
    uint32_t step = 0;
    while (step < lane.num_steps && program.fusions[lane.first_step + step].is_given == 0) ++step;
    part.cursors[i].step = step;
  }
}

// What a part has come to, at its home, to go on from in the next launch. The context of a wide
// operation is at home already, and other blocks read it there.
template <class Machine>
TUTTI_BOTH Part& rest(const Part& part, const DeviceProgram& program, Machine& machine) {
  const Context& context = *part.context;
  if (program.num_parts == 1) bring_home(context, program, machine);
  Part& there = at_home<Part>(context, program.homes.parts)[part.index];
  const uint32_t num_lanes = program.view.num_lanes;
  Cursor* const cursors = at_home<Cursor>(context, program.homes.cursors) + part.index * num_lanes;
  for (uint32_t i = 0; i < num_lanes; ++i) cursors[i] = part.cursors[i];
  const Cursor finish = part.finish;
  const uint32_t index = part.index;
  uint32_t* const words = part.words;
  there.context = context.home;
  there.cursors = cursors;
  there.words = words;
  there.finish = finish;
  there.index = index;
  there.lane = 0;
  there.num_vain = part.num_vain;
  there.is_late = 0;
  return there;
}

}  // namespace tutti::engine::cuda
