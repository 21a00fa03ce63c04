// One collective that this rank has issued and not finished: data only. Everything here belongs to
// the rank's own engine; what peers may read of it are its words and its exposed buffers, which
// lie in the rank's segment.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "engine/bound_program.h"
#include "engine/cpu/reduce.h"
#include "engine/cpu/short_name.h"
#include "engine/step.h"
#include "engine/task_queue.h"
#include "ir/step.h"
#include "transport/memory.h"
#include "transport/record.h"
#include "tutti/data_type.h"
#include "tutti/result.h"

namespace tutti::engine {

// What an operator asks for beyond reducing: premul_sum scales the input first, avg divides the
// output at the end.
struct Finishing {
  DataType type = DataType::kUint8;
  Op op = Op::kSum;
  double factor = 1;
};

// What a communicator asks of the engine. Programs and members outlive the operation:
// while it is under way the program is in use.
struct Request {
  uint64_t id = 0;  // equal on all ranks, and unlike that of any other operation under way
  transport::Signature signature;
  const BoundProgram* program = nullptr;
  std::span<const Rank> members;       // who takes part, as ranks of the endpoint
  std::span<const Rank> communicator;  // to name ranks by their place in; empty: `members`
  uint64_t group = 0;                  // whose abort ends the operation; 0: nobody's
  const void* input = nullptr;
  void* output = nullptr;
  ReduceFn reduce = nullptr;
  uint32_t elem_bytes = 1;
  Finishing finishing;
  uint64_t deadline_ns = UINT64_MAX;  // base/clock.h
  // For people: the caller's name, valid while submitting; which use of it, or which unnamed call.
  std::string_view name = {};
  uint64_t number = 0;
};

[[nodiscard]] inline std::span<const Rank> communicator_of(const Request& request) {
  return request.communicator.empty() ? request.members : request.communicator;
}

[[nodiscard]] inline bool is_among(std::span<const Rank> members, Rank rank) {
  return std::find(members.begin(), members.end(), rank) != members.end();
}

// Counters that peers read: messages sent on each out-link, then messages taken on each in-link.
// `operation` is written first and on reuse, so a reader that still sees the id after it has read a
// counter has read a counter of that operation.
struct Words {
  std::atomic<uint64_t> operation;
  std::atomic<uint32_t> counters[];
};

// What this rank knows of a peer's side of an operation.
struct PeerSide {
  bool is_present = false;  // it has issued the operation, with the same signature
  const Words* words = nullptr;
  std::array<transport::RemoteAddress, ir::kNumBuffers> buffers;
  std::array<const std::byte*, ir::kNumBuffers> direct{};  // null: must be pulled
};

class StepTrace;
// When a lane began the step it is in (0: it has not), and ended the one before.
struct LaneTimes {
  uint64_t begun = 0;
  uint64_t ended = 0;
};

enum class OperationState : uint8_t { kRunning, kDone, kFailed };
// How messages travel: each in a record of its own, or read from the sender's memory.
enum class Carriage : uint8_t { kPackets, kMemory };

struct Operation : Task {
  Request request;
  Carriage carriage = Carriage::kPackets;

  std::array<std::byte*, ir::kNumBuffers> base{};  // as this rank's steps see them
  std::vector<Cursor> cursors;
  std::vector<LaneState> lanes;
  std::vector<PeerSide> peers;       // as in the program
  std::vector<uint32_t> in_counts;   // messages known to have arrived, by in-link
  std::vector<uint32_t> out_counts;  // messages known to have been taken, by out-link
  std::vector<Rank> to_greet;        // memory: members that were not told of this operation yet
  uint32_t signatures_missing = 0;   // of ranks whose data ends up in this rank's output

  std::vector<std::byte> scaled;         // premul_sum: the input times the factor
  std::vector<std::byte> inbox;          // packets: what arrived, by in-link and number
  std::vector<std::byte> shadow;         // packets: the output until all is well
  std::vector<std::byte> scratch_store;  // packets
  // memory: in the arena, or a mirror in the heap, where peers can read. A mirror is what was sent
  // of the input or the output, at the same offsets: for peers that cannot read the caller's
  // memory, and so that a caller need not wait until they have. Null: they read the caller's own.
  Words* words = nullptr;
  std::byte* scratch = nullptr;
  std::array<std::byte*, ir::kNumBuffers> mirrors{};
  std::vector<uint64_t> exported;  // bytes of each export that its mirror has
  Ways::Turn way;                  // memory: how it gets to peers in other processes
  uint64_t unread_since_ns = 0;    // memory: some have read it, others have not; 0: it is not so
  uint64_t lent_number = 0;        // memory: Engine::num_lent_ when it was enlisted

  // Written by whoever runs the engine, last; pairs with the acquire of waiters.
  std::atomic<OperationState> state{OperationState::kRunning};
  Error error{ErrorCode::kAborted, {}};
  // memory: a peer's part could not be read: why, and whose. The operation then fails everywhere.
  std::optional<Error> unread;
  uint32_t unread_peer = 0;
  // memory: a peer ended its part while it was read. It has failed there; word of that is coming.
  bool is_deserted = false;
  bool is_abandoned = false;  // memory: done here and failed elsewhere; a peer may still read it
  bool is_lent = false;       // memory: the caller waits until its readers are done
  bool is_retired = false;    // the engine is done with it
  // The caller has its answer and will not ask again. Written by the caller, last.
  std::atomic<bool> is_released{false};
  bool is_queued = false;    // in the engine's queue, or among those that peers still read
  uint32_t num_unheard = 0;  // members whose word that they have issued it is to come

  // For whoever watches.
  ShortName name;
  uint64_t issued = 0;                 // base::ticks
  uint64_t flight = 0;                 // number in the flight recorder
  std::atomic<bool> is_waited{false};  // a thread is in wait() for it
  StepTrace* trace = nullptr;          // null: its steps are not traced
  std::vector<LaneTimes> lane_times;   // by lane, where they are
};

}  // namespace tutti::engine
