#include "ir/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace tutti::ir {
namespace {

uint64_t ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

}  // namespace

Sizes Sizes::even(const Layout& layout, uint64_t elems) {
  const bool one_block = layout.num_blocks() <= 1;
  Sizes sizes(layout.chunks_per_block(), elems, one_block ? 1 : layout.collective().num_ranks);
  sizes.largest_chunk_ = ceil_div(ceil_div(elems, sizes.row_blocks_), sizes.chunks_per_block_);
  return sizes;
}

Result<Sizes> Sizes::uneven(const Layout& layout, std::vector<uint64_t> block_elems) {
  if (block_elems.size() != layout.num_blocks()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} of {} ranks needs {} counts, one a block, but got {}",
                             to_string(layout.collective().kind), layout.collective().num_ranks,
                             layout.num_blocks(), block_elems.size())};
  }
  uint64_t total = 0;
  uint64_t largest = 0;
  for (uint64_t elems : block_elems) {
    if (elems > uint64_t{std::numeric_limits<int64_t>::max()} - total) {
      return Error{ErrorCode::kInvalidArgument, "the counts add up to more than 2^63 - 1"};
    }
    total += elems;
    largest = std::max(largest, elems);
  }
  Sizes sizes(layout.chunks_per_block(), total, 1);
  sizes.largest_chunk_ = ceil_div(largest, sizes.chunks_per_block_);
  sizes.block_elems_ = std::move(block_elems);
  return sizes;
}

}  // namespace tutti::ir
