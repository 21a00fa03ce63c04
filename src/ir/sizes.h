// How large each chunk is, once the caller's counts are known. A schedule has no sizes; engines
// and the simulator combine it with one of these.
//
// A row of n elements cut into k pieces gives piece i the elements [n*i/k, n*(i+1)/k): pieces
// differ by at most one element, and the cut is the same on every rank without talking.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "ir/layout.h"
#include "tutti/result.h"

namespace tutti::ir {

// First element of piece `index` when `total` elements are cut into `pieces`.
[[nodiscard]] constexpr uint64_t piece_begin(uint64_t total, uint64_t pieces, uint64_t index) {
  // total * index may exceed 64 bits: split total into quotient and remainder first.
  return total / pieces * index + total % pieces * index / pieces;
}
[[nodiscard]] constexpr uint64_t piece_size(uint64_t total, uint64_t pieces, uint64_t index) {
  return piece_begin(total, pieces, index + 1) - piece_begin(total, pieces, index);
}

class Sizes {
 public:
  // `elems` is the length of the whole row of blocks of one buffer: the message of all_reduce,
  // reduce and broadcast; the gathered output, the scattered input, one rank's all_to_all input.
  // A row that the number of ranks does not divide is cut as above.
  static Sizes even(const Layout& layout, uint64_t elems);
  // One count a block, in block order. Refuses a wrong number of counts and a sum over 2^63.
  static Result<Sizes> uneven(const Layout& layout, std::vector<uint64_t> block_elems);

  [[nodiscard]] uint64_t block_elems(uint64_t block) const {
    if (!block_elems_.empty()) return block_elems_[block];
    return piece_size(row_elems_, row_blocks_, block % row_blocks_);
  }
  [[nodiscard]] uint64_t chunk_elems(ChunkId chunk) const {
    if (chunk == kAnyChunk) return largest_chunk_;
    return piece_size(block_elems(chunk.value / chunks_per_block_), chunks_per_block_,
                      chunk.value % chunks_per_block_);
  }

 private:
  Sizes(uint32_t chunks_per_block, uint64_t row_elems, uint64_t row_blocks)
      : chunks_per_block_(chunks_per_block), row_elems_(row_elems), row_blocks_(row_blocks) {}

  uint32_t chunks_per_block_;
  uint64_t row_elems_;
  uint64_t row_blocks_;
  uint64_t largest_chunk_ = 0;
  std::vector<uint64_t> block_elems_;  // empty when even
};

}  // namespace tutti::ir
