#include "engine/cpu/ports.h"

#include <array>

namespace tutti::engine {
namespace {

// What must be pulled and then reduced stops here in between. One a thread: a tile never waits.
std::byte* pull_buffer() {
  alignas(64) thread_local std::array<std::byte, kTileBytes> buffer;
  return buffer.data();
}

}  // namespace

void copy_to_share(const Operation& op, std::byte* to, const std::byte* from, uint64_t bytes) {
  op.way.way == Way::kStream ? copy_streaming(to, from, bytes) : copy(to, from, bytes);
}

bool MemoryPort::move(const ProgramStep& step, Cursor& cursor) {
  if (kind_of(step) == ir::StepKind::kSend) return export_tile(step.exported);
  const BoundProgram& program = *op_.request.program;
  while (cursor.piece < step.num_pieces) {
    const Piece& piece = program.pieces[step.first_piece + cursor.piece];
    const uint64_t bytes = std::min(kTileBytes, piece.bytes - cursor.bytes);
    if (!move_tile(step, piece, cursor.bytes, bytes)) return false;
    if (step.exported != kNoLink) mirror_tile(step, piece, cursor.bytes, bytes);
    cursor.bytes += bytes;
    if (cursor.bytes == piece.bytes) cursor = {cursor.step, cursor.piece + 1, 0};
    const bool is_last = cursor.piece == step.num_pieces;
    if (!is_last && (bytes == kTileBytes || kPreemptAlways)) return false;
  }
  if (step.in != kNoLink && !is_still_there(op_.peers[program.ins[step.in].peer])) {
    op_.is_deserted = true;
    return false;
  }
  if (step.exported != kNoLink) op_.exported[step.exported] = program.exports[step.exported].bytes;
  return true;
}

bool MemoryPort::export_tile(uint16_t number) const {
  if (number == kNoLink) return true;
  const Export& all = op_.request.program->exports[number];
  std::byte* const mirror = op_.mirrors[all.buffer];
  if (mirror == nullptr) return true;
  uint64_t& done = op_.exported[number];
  const uint64_t bytes = std::min(kTileBytes, all.bytes - done);
  copy_to_share(op_, mirror + all.at + done, op_.base[all.buffer] + all.at + done, bytes);
  done += bytes;
  return done == all.bytes;
}

// Of a step that forwards what it writes: the tile is in the cache now.
void MemoryPort::mirror_tile(const ProgramStep& step, const Piece& piece, uint64_t at,
                             uint64_t bytes) const {
  std::byte* const mirror = op_.mirrors[step.dst_buffer];
  if (mirror == nullptr) return;
  copy_to_share(op_, mirror + piece.dst + at, op_.base[step.dst_buffer] + piece.dst + at, bytes);
}

bool MemoryPort::move_tile(const ProgramStep& step, const Piece& piece, uint64_t at,
                           uint64_t bytes) {
  const TileMover mover(op_);
  if (step.in == kNoLink) {
    mover.move(step, piece, at, bytes);
    return true;
  }
  const uint32_t index = op_.request.program->ins[step.in].peer;
  const PeerSide& peer = op_.peers[index];
  if (const std::byte* direct = peer.direct[step.peer_buffer]; direct != nullptr) {
    mover.take(step, piece, at, bytes, direct + piece.peer + at);
    return true;
  }
  transport::RemoteAddress from = peer.buffers[step.peer_buffer];
  from.value += piece.peer + at;
  const bool reduces = ir::reduces(kind_of(step));
  std::byte* const to = reduces ? pull_buffer() : op_.base[step.dst_buffer] + piece.dst + at;
  if (Status status = endpoint_.pull(rank_of(index), to, from, bytes); !status) {
    op_.unread = std::move(status.error());
    op_.unread_peer = index;
    return false;
  }
  if (reduces) mover.take(step, piece, at, bytes, to);
  return true;
}

bool MemoryPort::wants_turn(LaneState state, uint32_t lane) const {
  switch (state) {
    case LaneState::kDone:
    case LaneState::kDependency:  // the other lane wants one, or not
    case LaneState::kUnchecked: return false;
    case LaneState::kPreempted:
    case LaneState::kNoRoom:
    case LaneState::kNotTaken: return true;
    case LaneState::kNoMessage: {
      const BoundProgram& program = *op_.request.program;
      const ProgramStep& step =
          program.steps[program.lanes[lane].first_step + op_.cursors[lane].step];
      return op_.peers[program.ins[step.in].peer].is_present;
    }
  }
  return true;
}

void MemoryPort::finish(const ProgramStep& step) const {
  const BoundProgram& program = *op_.request.program;
  // Pairs with the acquire in arrived and taken of the peer.
  if (step.in != kNoLink) {
    op_.words->counters[program.outs.size() + step.in].store(step.in_number + 1,
                                                             std::memory_order_release);
    endpoint_.wake(rank_of(program.ins[step.in].peer));
  }
  if (step.out != kNoLink) {
    op_.words->counters[step.out].store(step.out_number + 1, std::memory_order_release);
    endpoint_.wake(rank_of(program.outs[step.out].peer));
  }
}

}  // namespace tutti::engine
