// Which chunk lies where: the collective's data as blocks, blocks as chunks, buffers as chunks.
//
// A block is what one caller contributes or receives as a unit. all_reduce, reduce, broadcast and
// send_recv have one; all_gather, gather, scatter and reduce_scatter have one a rank; all_to_all
// has block i * num_ranks + j, from rank i to rank j; barrier has none. Every block is cut into
// `chunks_per_block` chunks, and chunk id = block * chunks_per_block + part. Blocks may differ in
// size (the v collectives), and parts of a block too when it does not divide: ir/sizes.h.
//
// A buffer is a row of blocks, hence of chunk positions 0 .. num_chunks(rank, buffer) - 1:
//
//   collective       input of rank r            output of rank r          in place
//   all_reduce       block 0                    block 0                   input is output
//   reduce           block 0                    block 0, at the root      input is output, at root
//   broadcast        block 0, at the root       block 0                   input is output, at root
//   all_gather       block r                    all blocks                input is output's block r
//   gather           block r                    all blocks, at the root   the same, at the root
//   scatter          all blocks, at the root    block r                   output is input's block r
//   reduce_scatter   all blocks                 block r                   output is input's block r
//   all_to_all       blocks (r, 0..)            blocks (0.., r)           not defined
//   send_recv        block 0, at the root       block 0, at the peer      not defined
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "ir/schedule.h"
#include "tutti/collective.h"
#include "tutti/result.h"

namespace tutti::ir {

class Layout {
 public:
  // Refuses no ranks, no chunks, a root or peer out of range, and more than 2^32 - 2 chunks.
  static Result<Layout> create(const Collective& collective, uint32_t chunks_per_block);

  [[nodiscard]] const Collective& collective() const { return collective_; }
  [[nodiscard]] uint32_t chunks_per_block() const { return chunks_per_block_; }
  [[nodiscard]] uint64_t num_blocks() const { return num_blocks_; }
  [[nodiscard]] uint64_t num_chunks() const { return num_blocks_ * chunks_per_block_; }

  // Blocks and chunk positions of an input or output buffer (not of scratch).
  [[nodiscard]] uint32_t num_blocks(Rank rank, Buffer buffer) const;
  [[nodiscard]] uint32_t num_chunks(Rank rank, Buffer buffer) const {
    return num_blocks(rank, buffer) * chunks_per_block_;
  }
  // The chunk at a position of an input or output buffer. The position must exist.
  [[nodiscard]] ChunkId chunk_at(Rank rank, Buffer buffer, uint32_t index) const;
  // The block at a block position of an input or output buffer.
  [[nodiscard]] uint32_t block_at(Rank rank, Buffer buffer, uint32_t block_index) const;

 private:
  Layout(const Collective& collective, uint32_t chunks_per_block, uint64_t num_blocks)
      : collective_(collective), chunks_per_block_(chunks_per_block), num_blocks_(num_blocks) {}

  Collective collective_;
  uint32_t chunks_per_block_;
  uint64_t num_blocks_;
};

}  // namespace tutti::ir
