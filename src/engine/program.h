// One rank's part of a schedule for one message size: every step with the bytes it moves and where
// they lie, so that running it computes nothing. Plain records that a GPU kernel can read too.
//
// A message is never described on the wire. Both ends know the schedule, so the receiver knows
// where in the sender's buffers each message lies; all that travels is how many were sent and how
// many were taken.
#pragma once

#include <cstdint>
#include <type_traits>

namespace tutti::engine {

inline constexpr uint16_t kNoLink = 0xffff;

// Consecutive bytes of the input or the output that are sent, once or to several peers. Where peers
// cannot read the caller's memory, it is copied to where they can, once.
struct Export {
  uint64_t at;
  uint64_t bytes;
  uint32_t buffer;
  uint32_t unused;
};

// Consecutive bytes that a step moves: offsets into the buffers that the step names. `peer` is
// where the message lies in the sender's buffer.
struct Piece {
  uint64_t bytes;
  uint64_t src;
  uint64_t dst;
  uint64_t peer;
};

struct ProgramStep {
  uint8_t kind;  // ir::StepKind
  uint8_t src_buffer;
  uint8_t dst_buffer;
  uint8_t peer_buffer;  // of the sender: where the message lies that this step takes
  uint8_t out_buffer;   // where the message lies that this step sends
  uint8_t unused;
  uint16_t exported;  // which export the message sent is; kNoLink: none, it lies in scratch
  uint16_t in;        // link that the message comes on; kNoLink: does not receive
  uint16_t out;       // link that a message leaves on
  uint32_t in_number;
  uint32_t out_number;
  uint32_t first_piece;
  uint32_t num_pieces;
  uint32_t first_dep;
  uint32_t num_deps;
  uint64_t in_at;  // first byte of the message in the sender's buffer
  uint64_t out_at;
  uint64_t out_bytes;
};

// A step of the same rank that must be complete. What it sent, if it sends, must have been taken.
struct ProgramDep {
  uint32_t lane;
  uint32_t step;
  uint32_t number;    // of its message
  uint16_t out;       // kNoLink: does not send
  uint16_t exported;  // which export its message is
};

struct ProgramLane {
  uint32_t first_step;
  uint32_t num_steps;
};

// One direction of a connection, seen from this rank.
struct Link {
  uint32_t peer;          // index into the program's peers
  uint32_t number_there;  // which of the peer's links it is; packets are addressed by it
  uint32_t
      word_there;  // its counter among the peer's words: `sent` of an in-link, `taken` of an out
  uint32_t num_messages;
};

static_assert(sizeof(Piece) == 32 && sizeof(ProgramStep) == 64 && sizeof(ProgramDep) == 16);
static_assert(std::is_trivially_copyable_v<Piece> && std::is_trivially_copyable_v<ProgramStep>);
static_assert(std::is_trivially_copyable_v<ProgramDep> && std::is_trivially_copyable_v<Link>);

// The tables of a program; owned elsewhere.
struct ProgramView {
  const ProgramLane* lanes;
  const ProgramStep* steps;
  const ProgramDep* deps;
  const Piece* pieces;
  uint32_t num_lanes;
};

}  // namespace tutti::engine
