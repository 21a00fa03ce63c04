#include "tests/support/rank_memory.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace tutti::test {
namespace {

using ir::Buffer;

std::vector<uint64_t> sizes_of(const ir::Schedule& schedule, const ir::Layout& layout,
                               const ir::Sizes& sizes, Rank rank, Buffer buffer) {
  std::vector<uint64_t> elems;
  if (buffer == Buffer::kScratch) {
    for (ChunkId chunk : schedule.ranks[rank.value].scratch) {
      elems.push_back(sizes.chunk_elems(chunk));
    }
    return elems;
  }
  for (uint32_t i = 0; i < layout.num_chunks(rank, buffer); ++i) {
    elems.push_back(sizes.chunk_elems(layout.chunk_at(rank, buffer, i)));
  }
  return elems;
}

}  // namespace

int64_t contribution(uint32_t rank, uint64_t block, uint64_t elem) {
  uint64_t x = (uint64_t{rank} + 1) * 0x9E3779B97F4A7C15u + block * 0xBF58476D1CE4E5B9u + elem;
  x ^= x >> 29;
  x *= 0x94D049BB133111EBu;
  return static_cast<int64_t>(x >> 20);  // small enough that sums over all ranks are exact
}

int64_t expected(const Collective& c, uint64_t block, uint64_t elem) {
  switch (c.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduce:
    case CollectiveKind::kReduceScatter: {
      int64_t sum = 0;
      for (uint32_t r = 0; r < c.num_ranks; ++r) sum += contribution(r, block, elem);
      return sum;
    }
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kScatter:
    case CollectiveKind::kSendRecv: return contribution(c.root, block, elem);
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather: return contribution(static_cast<uint32_t>(block), block, elem);
    case CollectiveKind::kAllToAll:
      return contribution(static_cast<uint32_t>(block / c.num_ranks), block, elem);
    case CollectiveKind::kBarrier: return 0;
  }
  return 0;
}

RankMemory::RankMemory(const ir::Schedule& schedule, const ir::Layout& layout,
                       const ir::Sizes& sizes, Rank rank, Aliasing aliasing) {
  for (Buffer buffer : {Buffer::kInput, Buffer::kOutput, Buffer::kScratch}) {
    const auto elems = sizes_of(schedule, layout, sizes, rank, buffer);
    lay_out(buffer, static_cast<uint32_t>(elems.size()), elems);
  }
  if (aliasing == Aliasing::kInPlace) alias(layout.collective(), layout, rank);
  for (uint32_t i = 0; i < layout.num_blocks(rank, Buffer::kInput); ++i) {
    const uint32_t block = layout.block_at(rank, Buffer::kInput, i);
    int64_t* const elems = at(Buffer::kInput, i * layout.chunks_per_block());
    for (uint64_t e = 0; e < sizes.block_elems(block); ++e) {
      elems[e] = contribution(rank.value, block, e);
    }
  }
}

void RankMemory::lay_out(Buffer buffer, uint32_t num_positions,
                         const std::vector<uint64_t>& elems) {
  auto& begin = begin_[static_cast<size_t>(buffer)];
  begin.assign(1, 0);
  for (uint32_t i = 0; i < num_positions; ++i) begin.push_back(begin.back() + elems[i]);
  auto& row = rows_[static_cast<size_t>(buffer)];
  row.assign(kGuardElems, kGuard);
  row.resize(kGuardElems + begin.back() + 1, kUnwritten);
  row.resize(row.size() + kGuardElems, kGuard);
}

bool RankMemory::is_whole() const {
  const auto is_guard = [](int64_t value) { return value == kGuard; };
  return std::all_of(std::begin(rows_), std::end(rows_), [&](const auto& row) {
    const auto guard = static_cast<std::ptrdiff_t>(kGuardElems);
    return std::all_of(row.begin(), row.begin() + guard, is_guard) &&
           std::all_of(row.end() - guard, row.end(), is_guard);
  });
}

// Moves the smaller buffer into the larger one, at the place the layout's table gives it.
void RankMemory::alias(const Collective& c, const ir::Layout& layout, Rank rank) {
  const auto input = static_cast<size_t>(Buffer::kInput);
  const auto output = static_cast<size_t>(Buffer::kOutput);
  if (layout.num_blocks(rank, Buffer::kInput) == 0) return;
  if (layout.num_blocks(rank, Buffer::kOutput) == 0) return;
  const bool output_is_part =
      c.kind == CollectiveKind::kScatter || c.kind == CollectiveKind::kReduceScatter;
  const size_t part = output_is_part ? output : input;
  const size_t whole = output_is_part ? input : output;
  row_[part] = row_[whole];
  const bool same = begin_[part].size() == begin_[whole].size();
  const uint64_t shift = same ? 0 : begin_[whole][rank.value * layout.chunks_per_block()];
  for (uint64_t& begin : begin_[part]) begin += shift;
}

}  // namespace tutti::test
