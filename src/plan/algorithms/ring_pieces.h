// One piece of every block around one ring, whatever the order in which the ring visits the ranks.
// The catalogue's rings visit them by number; packing/ring_schedule.h goes along links.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "base/ids.h"
#include "ir/builder.h"

namespace tutti::plan {

// A rank's seat on a ring. Distances are from 0 to the number of ranks.
struct RingSeat {
  std::span<const uint32_t> order;  // the ranks as the ring visits them; outlives the seat
  uint32_t seat = 0;

  [[nodiscard]] uint32_t num_ranks() const { return static_cast<uint32_t>(order.size()); }
  [[nodiscard]] uint32_t rank() const { return order[seat]; }
  [[nodiscard]] uint32_t ahead(uint64_t distance) const {
    return order[(seat + distance) % order.size()];
  }
  [[nodiscard]] uint32_t behind(uint64_t distance) const {
    return order[(seat + order.size() - distance) % order.size()];
  }
  [[nodiscard]] Rank next() const { return Rank{ahead(1)}; }
  [[nodiscard]] Rank previous() const { return Rank{behind(1)}; }
};

inline std::vector<uint32_t> ring_by_number(uint32_t num_ranks) {
  std::vector<uint32_t> order(num_ranks);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Piece `index` of the `count` that every block is cut into. No two pieces that send between the
// same two ranks share a channel.
struct RingPiece {
  uint32_t index = 0;
  uint32_t count = 1;
  uint32_t channel = 0;
};

// Each writes what one rank of two or more does. all_reduce: a block is the part of the message
// that is complete at one rank, so there are as many as ranks. all_gather: but for the copy of a
// rank's own block.
void write_all_reduce_piece(ir::Builder& b, const RingSeat& at, const RingPiece& piece);
void write_all_gather_piece(ir::Builder& b, const RingSeat& at, const RingPiece& piece);
void write_reduce_scatter_piece(ir::Builder& b, const RingSeat& at, const RingPiece& piece);

}  // namespace tutti::plan
