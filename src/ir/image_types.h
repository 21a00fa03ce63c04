// What an engine or a GPU kernel reads of a schedule: one rank's program as plain records, one
// after the other in one block of bytes. Nothing here needs a host: only <cstdint>.
//
//   ImageHeader | LaneImage[] | StepImage[] | DepImage[] | ConnectionImage[] (sends, then recvs)
//               | uint32_t[] (the chunk that each scratch position is sized as)
//
// Every table starts on 16 bytes, at the offset that the header gives. Numbers of kinds and buffers
// are those of ir/step.h.
#pragma once

#include <cstdint>

namespace tutti::ir {

inline constexpr uint32_t kImageMagic = 0x54545549;  // "IUTT" in memory
inline constexpr uint32_t kImageVersion = 1;
inline constexpr uint16_t kNoConnection = 0xffff;

// Where a table lies, in bytes from the start of the block, and how many records it has.
struct TableImage {
  uint32_t offset;
  uint32_t count;
};

struct alignas(16) ImageHeader {
  uint32_t magic;
  uint32_t version;
  uint32_t num_bytes;  // of the whole block
  uint32_t rank;
  uint32_t num_ranks;
  uint32_t root;
  uint32_t peer;
  uint32_t chunks_per_block;
  uint32_t slots;
  uint8_t collective;
  uint8_t placement;
  uint16_t unused;
  uint32_t num_input_chunks;
  uint32_t num_output_chunks;
  TableImage lanes;
  TableImage steps;
  TableImage deps;
  TableImage sends;
  TableImage recvs;
  TableImage scratch;
};

// The steps [first_step, first_step + num_steps) of the step table.
struct alignas(16) LaneImage {
  uint32_t first_step;
  uint32_t num_steps;
  uint32_t channel;
  uint32_t unused;
};

// A message is named by its connection (an index into the rank's sends or recvs) and its number on
// it, counted from 0: that is all an engine needs to find its flag.
struct alignas(16) StepImage {
  uint8_t kind;
  uint8_t src_buffer : 4;
  uint8_t dst_buffer : 4;
  uint16_t num_deps;
  uint32_t src_index;
  uint32_t dst_index;
  uint32_t num_chunks;
  uint32_t first_dep;
  uint16_t send_connection;  // kNoConnection: does not send
  uint16_t recv_connection;
  uint32_t send_number;
  uint32_t recv_number;
};

struct DepImage {
  uint32_t lane;
  uint32_t step;  // in its lane
};

// One end of a connection. Ends are sorted by peer and channel; `peer_index` is where the other end
// stands in the peer's table, so either side can reach the other's flags.
struct alignas(16) ConnectionImage {
  uint32_t peer;
  uint32_t channel;
  uint32_t peer_index;
  uint32_t num_messages;
};

static_assert(sizeof(TableImage) == 8 && sizeof(DepImage) == 8);
static_assert(sizeof(ImageHeader) == 96 && alignof(ImageHeader) == 16);
static_assert(sizeof(LaneImage) == 16 && alignof(LaneImage) == 16);
static_assert(sizeof(StepImage) == 32 && alignof(StepImage) == 16);
static_assert(sizeof(ConnectionImage) == 16 && alignof(ConnectionImage) == 16);

}  // namespace tutti::ir
