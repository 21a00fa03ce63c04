#include "ir/layout.h"

#include <fmt/format.h>

#include "base/check.h"

namespace tutti::ir {
namespace {

uint64_t count_blocks(const Collective& c) {
  const uint64_t p = c.num_ranks;
  switch (c.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduce:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kSendRecv: return 1;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
    case CollectiveKind::kReduceScatter: return p;
    case CollectiveKind::kAllToAll: return p * p;
    case CollectiveKind::kBarrier: return 0;
  }
  return 0;
}

uint32_t count_input_blocks(const Collective& c, Rank rank) {
  const bool is_root = rank.value == c.root;
  switch (c.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduce:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather: return 1;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kSendRecv: return is_root ? 1 : 0;
    case CollectiveKind::kScatter: return is_root ? c.num_ranks : 0;
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll: return c.num_ranks;
    case CollectiveKind::kBarrier: return 0;
  }
  return 0;
}

uint32_t count_output_blocks(const Collective& c, Rank rank) {
  const bool is_root = rank.value == c.root;
  switch (c.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kScatter:
    case CollectiveKind::kReduceScatter: return 1;
    case CollectiveKind::kReduce: return is_root ? 1 : 0;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllToAll: return c.num_ranks;
    case CollectiveKind::kGather: return is_root ? c.num_ranks : 0;
    case CollectiveKind::kSendRecv: return rank.value == c.peer ? 1 : 0;
    case CollectiveKind::kBarrier: return 0;
  }
  return 0;
}

}  // namespace

Result<Layout> Layout::create(const Collective& c, uint32_t chunks_per_block) {
  const auto invalid = [](std::string message) {
    return Error{ErrorCode::kInvalidArgument, std::move(message)};
  };
  if (c.num_ranks == 0) return invalid("a collective needs at least one rank");
  if (chunks_per_block == 0) return invalid("a block needs at least one chunk");
  if (c.root >= c.num_ranks) {
    return invalid(fmt::format("root {} is not one of {} ranks", c.root, c.num_ranks));
  }
  if (c.peer >= c.num_ranks) {
    return invalid(fmt::format("peer {} is not one of {} ranks", c.peer, c.num_ranks));
  }
  const uint64_t num_blocks = count_blocks(c);
  if (num_blocks > (UINT32_MAX - 1) / chunks_per_block) {
    return invalid(
        fmt::format("{} of {} ranks with {} chunks a block has more than 2^32 - 2 chunks",
                    to_string(c.kind), c.num_ranks, chunks_per_block));
  }
  return Layout(c, chunks_per_block, num_blocks);
}

uint32_t Layout::num_blocks(Rank rank, Buffer buffer) const {
  TUTTI_CHECK(buffer != Buffer::kScratch, "scratch is not made of blocks");
  return buffer == Buffer::kInput ? count_input_blocks(collective_, rank)
                                  : count_output_blocks(collective_, rank);
}

uint32_t Layout::block_at(Rank rank, Buffer buffer, uint32_t block_index) const {
  const uint32_t p = collective_.num_ranks;
  const bool is_input = buffer == Buffer::kInput;
  switch (collective_.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduce:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kSendRecv:
    case CollectiveKind::kBarrier: return 0;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather: return is_input ? rank.value : block_index;
    case CollectiveKind::kScatter:
    case CollectiveKind::kReduceScatter: return is_input ? block_index : rank.value;
    case CollectiveKind::kAllToAll:
      return is_input ? rank.value * p + block_index : block_index * p + rank.value;
  }
  return 0;
}

ChunkId Layout::chunk_at(Rank rank, Buffer buffer, uint32_t index) const {
  const uint32_t block = block_at(rank, buffer, index / chunks_per_block_);
  return ChunkId{block * chunks_per_block_ + index % chunks_per_block_};
}

}  // namespace tutti::ir
