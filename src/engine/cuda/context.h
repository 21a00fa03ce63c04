// One operation under way on a daemon. Its home is memory of the issuing rank: of it, peers write
// the words (what they sent, what they took) and the early nodes, and only until the operation is
// over: it ends when all that is written there has been waited for. So what is over can be used
// again. While blocks work on it, they have what is theirs of it on their desks (desk.h).
#pragma once

#include <cstdint>

#include "engine/cuda/device_program.h"
#include "engine/cuda/wire.h"
#include "engine/step.h"
#include "engine/task_queue.h"

namespace tutti::engine::cuda {

// What this rank knows of a member.
struct alignas(16) PeerSide {
  std::byte* buffers[ir::kNumBuffers];
  uint32_t* words;
  double factor;
  uint32_t words_stride;
  uint32_t is_heard;
  std::byte input[kInlineBytes];  // of small operations
};
static_assert(sizeof(PeerSide) == 160 && std::is_trivially_copyable_v<PeerSide>);

// What one block does of an operation.
struct Part : Task {
  Context* context;
  Cursor* cursors;  // by lane
  uint32_t* words;  // taken of each out-link, then sent on each in-link
  Part* resting;    // the next one that waits for the next launch; of homes alone
  Cursor finish;    // of dividing the output
  uint32_t index;
  uint32_t lane;      // that moved last
  uint32_t num_vain;  // turns since it moved
  uint32_t is_late;   // it is given up
};

// Of an operation that has started, at its home: what its parts tell the one that is last.
struct Closing {
  uint32_t parts_left;
  uint32_t num_late;
  Stall stall;  // of the first late one
};

struct alignas(16) Context {
  Submission issued;
  Context* home;
  Context* next;        // in the table of operations, or in its stream
  Context* greet_next;  // among those of which not all members were told, or that are ready
  PeerSide* members;
  uint64_t deadline_ns;
  uint32_t num_unheard;
  uint32_t num_greeted;  // members that were told
  uint32_t stamp;        // the greatest heard of
  uint32_t outcome;      // kUnderWay, or why it fails; then it never starts
  uint32_t failed_member;
  uint32_t is_moved;  // here: only members have something to do yet
  transport::Signature failed_signature;
};
static_assert(sizeof(Context) % 16 == 0 && std::is_trivially_copyable_v<Context>);

// Over for the caller, though letters of members are still to come.
[[nodiscard]] TUTTI_BOTH inline bool is_given_up(const Context& context) {
  return context.outcome == static_cast<uint32_t>(Outcome::kDeadline) ||
         context.outcome == static_cast<uint32_t>(Outcome::kAborted);
}

// Why it failed, before its outcome is told.
TUTTI_BOTH inline void tell(Completion& told, const Context& context, const Stall* stall) {
  told.member = stall != nullptr ? stall->member : context.failed_member;
  told.signature = context.failed_signature;
  if (stall != nullptr) told.stall = *stall;
}

// What lies where behind the context at its home.
template <class T>
[[nodiscard]] TUTTI_BOTH T* at_home(const Context& context, uint32_t offset) {
  return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(context.home) + offset);
}
[[nodiscard]] TUTTI_BOTH inline uint32_t* words_of(const Context& context,
                                                   const DeviceProgram& program) {
  return at_home<uint32_t>(context, program.homes.words);
}
[[nodiscard]] TUTTI_BOTH inline Closing& closing_of(const Context& context,
                                                    const DeviceProgram& program) {
  return *at_home<Closing>(context, program.homes.closing);
}
[[nodiscard]] TUTTI_BOTH inline std::byte* scratch_of(const Context& context,
                                                      const DeviceProgram& program) {
  return at_home<std::byte>(context, program.homes.scratch);
}

}  // namespace tutti::engine::cuda
