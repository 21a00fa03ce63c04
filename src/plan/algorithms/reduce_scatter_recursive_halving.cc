// The ranks split into halves again and again; at each split everyone gives what it has of the
// other half's blocks to a rank of that half, and adds what it takes to its sums of its own half's.
//
// halving.h has the splits, for any number of ranks. What a rank still has to do with is `held`: a
// range of blocks in one buffer. That is all of input at first, then the sums of its half in
// scratch, and its own block in output at the end. Sums shrink where they lie: what is given away
// is never written again.
//
// Cost: ceil(log2 p) alpha + n (p-1)/p (beta + gamma). When p is no power of two, some ranks take
// twice in a round; that costs up to 4 alpha + 3/4 n (beta + gamma) more (simulated to 128 ranks).
// Scratch is half of n.
#include <optional>

#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/halving.h"

namespace tutti::plan {
namespace {

using namespace ir;

struct Held {
  Buffer buffer;
  Range blocks;

  Region region(Range part) const { return {buffer, part.begin - blocks.begin, part.size()}; }
};

// Where the sums of these blocks go: the own block to output, more to scratch, which is made for
// the first, widest range.
Held place_for_sums(Builder& b, Rank rank, const Held& held, Range blocks) {
  if (blocks.size() == 1) return {Buffer::kOutput, blocks};
  if (held.buffer == Buffer::kScratch) return held;
  for (uint32_t block = blocks.begin; block < blocks.end; ++block) {
    b.add_scratch(rank, ChunkId{block});
  }
  return {Buffer::kScratch, blocks};
}

void write_recursive_halving(Builder& b, Rank rank) {
  LaneWriter lane = b.add_lane(rank);
  Held held{Buffer::kInput, {0, b.num_ranks()}};
  std::optional<StepRef> sent;
  for (const Split& split : halve(b.num_ranks(), rank)) {
    sent = lane.send(held.region(split.other), split.gives_to, sent ? After({&*sent, 1}) : After());
    for (const Rank peer : split.takes_from) {
      const Held sums = place_for_sums(b, rank, held, split.mine);
      lane.recv_reduce(held.region(split.mine), sums.region(split.mine), peer);
      held = sums;
    }
  }
  if (b.num_ranks() == 1) lane.copy(input(0), output(0));
}

Result<Schedule> reduce_scatter_recursive_halving(const Collective& collective, const Options&) {
  Builder b(collective, {.name = "recursive_halving"});
  for (uint32_t r = 0; r < b.num_ranks(); ++r) write_recursive_halving(b, Rank{r});
  return std::move(b).finish();
}

}  // namespace

const Algorithm kReduceScatterRecursiveHalving{
    .kind = CollectiveKind::kReduceScatter,
    .name = "recursive_halving",
    .idea = "The ranks split into halves, each half taking over the sums of its own blocks.",
    .cost =
        "ceil(log2 p) alpha + n (p-1)/p (beta + gamma), up to 4 alpha + 3/4 n (beta + gamma) "
        "more when p is no power of 2",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = reduce_scatter_recursive_halving,
};

}  // namespace tutti::plan
