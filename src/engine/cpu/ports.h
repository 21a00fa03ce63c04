// How a lane of an operation on a CPU rank reaches its peers: by packets in rings, or through the
// peers' memory. See engine/step.h for what a port is.
#pragma once

#include <algorithm>
#include <cstring>

#include "engine/cpu/operation.h"
#include "engine/step.h"
#include "transport/endpoint.h"

namespace tutti::engine {

// Bytes moved before a lane gives others a turn. Large enough that the turn costs nothing, small
// enough that a tile and its sources stay in the second-level cache.
inline constexpr uint64_t kTileBytes = uint64_t{256} * 1024;

inline ir::StepKind kind_of(const ProgramStep& step) {
  return static_cast<ir::StepKind>(step.kind);
}

// Packets work on a copy of the output, which must be cheap.
inline constexpr uint64_t kShadowBytes = uint64_t{32} * 1024;

// Two messages at most: what a peer may send to an operation that was not issued here is kept. And
// what does not fit into records is copied by sender and receiver, where lent memory is only read:
// no rank does that for more than a slot holds. All ranks decide alike.
[[nodiscard]] inline bool travels_in_packets(const BoundProgram& program) {
  const bool is_little = program.largest_message <= transport::kMaxPayload ||
                         program.most_carried <= transport::kWideBytes;
  return is_little && program.most_messages <= 2 && program.largest_buffer <= kShadowBytes;
}

// Copies into memory that peers read.
void copy_to_share(const Operation& op, std::byte* to, const std::byte* from, uint64_t bytes);

// What both ports share: a tile of a step once its message is readable.
class TileMover {
 public:
  explicit TileMover(Operation& op) : op_(op) {}

  // Of a step that receives.
  void take(const ProgramStep& step, const Piece& piece, uint64_t at, uint64_t bytes,
            const std::byte* message) const {
    std::byte* const dst = op_.base[step.dst_buffer] + piece.dst + at;
    if (!ir::reads_src(kind_of(step))) return copy(dst, message, bytes);
    const std::byte* const src = op_.base[step.src_buffer] + piece.src + at;
    reduce(dst, src, message, bytes);
  }
  // Of a step between buffers of this rank.
  void move(const ProgramStep& step, const Piece& piece, uint64_t at, uint64_t bytes) const {
    std::byte* const dst = op_.base[step.dst_buffer] + piece.dst + at;
    const std::byte* const src = op_.base[step.src_buffer] + piece.src + at;
    kind_of(step) == ir::StepKind::kReduce ? reduce(dst, dst, src, bytes) : copy(dst, src, bytes);
  }

 private:
  static void copy(std::byte* dst, const std::byte* src, uint64_t bytes) {
    if (dst != src) std::memcpy(dst, src, bytes);
  }
  void reduce(std::byte* dst, const std::byte* a, const std::byte* b, uint64_t bytes) const {
    op_.request.reduce(dst, a, b, bytes / op_.request.elem_bytes);
  }

  Operation& op_;
};

class PacketPort {
 public:
  PacketPort(Operation& op, transport::Endpoint& endpoint) : op_(op), endpoint_(endpoint) {}

  [[nodiscard]] bool arrived(uint16_t in, uint32_t number) const {
    return op_.in_counts[in] > number;
  }
  // What is sent is out of the caller's hands; but who is far ahead of a peer waits for it.
  [[nodiscard]] bool taken(uint16_t out, uint32_t /*number*/) const {
    return !endpoint_.to(receiver(out)).is_far_ahead();
  }
  [[nodiscard]] static bool released(const ProgramDep& /*dep*/) { return true; }
  [[nodiscard]] bool has_room(const ProgramStep& step) const {
    if (step.out == kNoLink) return true;
    transport::RingWriter& ring = endpoint_.to(receiver(step.out));
    return is_wide(step) ? ring.has_wide_room() : ring.reserve() != nullptr;
  }
  // Written is the shadow; the output itself only when all is done.
  [[nodiscard]] static bool may_write(const ProgramStep& /*step*/) { return true; }

  [[nodiscard]] bool move(const ProgramStep& step, Cursor& /*cursor*/) const {
    if (kind_of(step) == ir::StepKind::kSend) return true;
    move_pieces(step, step.in == kNoLink ? nullptr : inbox(step.in, step.in_number));
    return true;
  }

  void finish(const ProgramStep& step) const {
    if (step.out == kNoLink) return;
    const Link& link = op_.request.program->outs[step.out];
    const Rank peer = receiver(step.out);
    transport::RingWriter& ring = endpoint_.to(peer);
    transport::Record& record = *ring.reserve();
    record.header = {op_.request.id, op_.request.signature, step.out_number,
                     static_cast<uint16_t>(link.number_there),
                     static_cast<uint16_t>(step.out_bytes)};
    const std::byte* const data = op_.base[step.out_buffer] + step.out_at;
    if (is_wide(step)) {
      ring.publish_wide(endpoint_.wide_slots().put(message_of(step), data, step.out_bytes));
    } else {
      if (step.out_bytes != 0) std::memcpy(record.payload.data(), data, step.out_bytes);
      ring.publish(transport::RecordKind::kPacket);
    }
    endpoint_.wake(peer);
  }

  // Room in a ring comes without a record; messages come with one.
  [[nodiscard]] static bool wants_turn(LaneState state, uint32_t /*lane*/) {
    return state == LaneState::kNoRoom || state == LaneState::kPreempted;
  }

  [[nodiscard]] std::byte* inbox(uint16_t in, uint32_t number) const {
    const size_t slot = in * op_.request.program->most_messages + number;
    return op_.inbox.data() + slot * op_.request.program->largest_message;
  }

 protected:
  // Of a step that receives `message`, or (null) does not.
  void move_pieces(const ProgramStep& step, const std::byte* message) const {
    const TileMover mover(op_);
    for (uint32_t i = 0; i < step.num_pieces; ++i) {
      const Piece& piece = op_.request.program->pieces[step.first_piece + i];
      if (step.in == kNoLink) {
        mover.move(step, piece, 0, piece.bytes);
      } else {
        mover.take(step, piece, 0, piece.bytes, message + piece.peer - step.in_at);
      }
    }
  }

 private:
  static bool is_wide(const ProgramStep& step) { return step.out_bytes > transport::kMaxPayload; }
  // Messages that are one export have the same contents.
  [[nodiscard]] transport::WideSlots::Message message_of(const ProgramStep& step) const {
    using Message = transport::WideSlots::Message;
    return {op_.request.id, step.exported == kNoLink ? Message::kOnce : step.exported};
  }
  [[nodiscard]] Rank receiver(uint16_t out) const {
    const BoundProgram& program = *op_.request.program;
    return op_.request.members[program.peers[program.outs[out].peer].value];
  }

  Operation& op_;
  transport::Endpoint& endpoint_;
};

class MemoryPort {
 public:
  MemoryPort(Operation& op, transport::Endpoint& endpoint) : op_(op), endpoint_(endpoint) {}

  [[nodiscard]] bool arrived(uint16_t in, uint32_t number) const {
    if (op_.in_counts[in] > number) return true;
    const Link& link = op_.request.program->ins[in];
    const PeerSide& peer = op_.peers[link.peer];
    if (!peer.is_present) return false;
    // Pairs with the release in finish.
    const uint32_t sent = peer.words->counters[link.word_there].load(std::memory_order_acquire);
    if (!is_of_this(peer)) return false;
    op_.in_counts[in] = std::min(sent, link.num_messages);
    return op_.in_counts[in] > number;
  }

  [[nodiscard]] bool taken(uint16_t out, uint32_t number) const {
    if (op_.out_counts[out] > number) return true;
    const Link& link = op_.request.program->outs[out];
    const PeerSide& peer = op_.peers[link.peer];
    if (!peer.is_present) return false;
    const uint32_t count = peer.words->counters[link.word_there].load(std::memory_order_acquire);
    // A peer that has reused its words is done with the operation, hence has taken everything.
    op_.out_counts[out] = has_left(peer) ? link.num_messages : count;
    return op_.out_counts[out] > number;
  }

  // The mirror of the input keeps what was sent; that of the output is written anew by a later
  // step that sends from there.
  [[nodiscard]] bool released(const ProgramDep& dep) const {
    if (dep.exported != kNoLink) {
      const bool is_input = op_.request.program->exports[dep.exported].buffer == kInput;
      if (is_input && op_.mirrors[kInput] != nullptr) return true;
    }
    return taken(dep.out, dep.number);
  }

  [[nodiscard]] static bool has_room(const ProgramStep& /*step*/) { return true; }
  [[nodiscard]] bool may_write(const ProgramStep& step) const {
    return op_.signatures_missing == 0 || !ir::writes_dst(kind_of(step)) ||
           step.dst_buffer == static_cast<uint8_t>(ir::Buffer::kScratch);
  }

  // Before a peer is present nothing but its hello can change anything.
  [[nodiscard]] bool wants_turn(LaneState state, uint32_t lane) const;
  // False after each tile but the last. What cannot be read is an error of the operation.
  [[nodiscard]] bool move(const ProgramStep& step, Cursor& cursor);
  void finish(const ProgramStep& step) const;

 private:
  [[nodiscard]] bool is_of_this(const PeerSide& peer) const {
    return peer.words->operation.load(std::memory_order_relaxed) == op_.request.id;
  }
  // The caller may write what the peer has read: pairs with the releases of the id, of which the
  // first comes after the peer's last read.
  [[nodiscard]] bool has_left(const PeerSide& peer) const {
    return peer.words->operation.load(std::memory_order_acquire) != op_.request.id;
  }
  // After reading: what was read was the operation's, not that of a later one in the same memory.
  // Pairs with the release of free_memory.
  [[nodiscard]] bool is_still_there(const PeerSide& peer) const {
    std::atomic_thread_fence(std::memory_order_acquire);
    return is_of_this(peer);
  }
  [[nodiscard]] Rank rank_of(uint32_t peer) const {
    return op_.request.members[op_.request.program->peers[peer].value];
  }
  bool move_tile(const ProgramStep& step, const Piece& piece, uint64_t at, uint64_t bytes);
  // Copies the next tile of an export to its mirror. Whether all of it is there.
  [[nodiscard]] bool export_tile(uint16_t number) const;
  void mirror_tile(const ProgramStep& step, const Piece& piece, uint64_t at, uint64_t bytes) const;

  static constexpr auto kInput = static_cast<uint32_t>(ir::Buffer::kInput);

  Operation& op_;
  transport::Endpoint& endpoint_;
};

}  // namespace tutti::engine
