#include "verify/meaning.h"

namespace tutti::verify {

using ir::Buffer;
using ir::Placement;

bool has_in_place(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduce:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
    case CollectiveKind::kBarrier: return true;
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kSendRecv: return false;
  }
  return false;
}

std::vector<Placement> placements_to_prove(const ir::Schedule& schedule) {
  const CollectiveKind kind = schedule.collective.kind;
  if (kind == CollectiveKind::kBarrier) return {};
  switch (schedule.placement) {
    case Placement::kOutOfPlace: return {Placement::kOutOfPlace};
    case Placement::kInPlace: return {Placement::kInPlace};
    case Placement::kEither: break;
  }
  if (!has_in_place(kind)) return {Placement::kOutOfPlace};
  return {Placement::kOutOfPlace, Placement::kInPlace};
}

RankMemory place_memory(const ir::Schedule& schedule, const ir::Layout& layout, Placement placement,
                        Rank rank, uint64_t begin) {
  const uint64_t num_input = layout.num_chunks(rank, Buffer::kInput);
  const uint64_t num_output = layout.num_chunks(rank, Buffer::kOutput);
  uint64_t input = begin;
  uint64_t output = begin + num_input;
  uint64_t scratch = output + num_output;
  // A rank that has only one of the two (the leaves of a rooted collective) has nothing to share.
  const bool shares = placement == Placement::kInPlace && num_input > 0 && num_output > 0;
  if (shares) {
    // The smaller is the rank's own block of the larger; where both are one block, they coincide.
    const uint64_t own_block = uint64_t{rank.value} * layout.chunks_per_block();
    input = begin + (num_output > num_input ? own_block : 0);
    output = begin + (num_input > num_output ? own_block : 0);
    scratch = begin + (num_input > num_output ? num_input : num_output);
  }
  const uint64_t num_scratch = schedule.ranks[rank.value].scratch.size();
  return {{input, output, scratch}, scratch + num_scratch};
}

ContributionSet meaning_of(const ir::Layout& layout, const ContributionSets& sets, ChunkId chunk) {
  const Collective& collective = layout.collective();
  const uint32_t block = chunk.value / layout.chunks_per_block();
  switch (collective.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduce:
    case CollectiveKind::kReduceScatter: return sets.all();
    case CollectiveKind::kAllGather:
    case CollectiveKind::kGather: return sets.only(Rank{block});
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kScatter:
    case CollectiveKind::kSendRecv: return sets.only(Rank{collective.root});
    case CollectiveKind::kAllToAll: return sets.only(Rank{block / collective.num_ranks});
    case CollectiveKind::kBarrier: break;
  }
  return {};
}

}  // namespace tutti::verify
