// Blocks meet on their way to the root: every round, half of the ranks that still hold blocks hand
// all they hold to the other half, so the root takes few, growing messages.
//
// The blocks of a subtree of the binomial tree are consecutive (binomial_tree.h). A rank with
// children keeps them side by side in scratch, its own first, and sends all as one message; a leaf
// sends from its input, and the root takes each message where it belongs in its output. Children
// are taken smallest subtree first, the order in which they become ready.
//
// Cost: ceil(log2 p) alpha + n (p-1)/p beta, n being the gathered whole; any root.
#include "ir/builder.h"
#include "plan/algorithms/binomial_tree.h"
#include "plan/algorithms/catalogue.h"

namespace tutti::plan {
namespace {

using namespace ir;

Result<Schedule> gather_binomial(const Collective& collective, const Options&) {
  const Rank root{collective.root};
  Builder b(collective, {.name = "binomial"});
  const auto tree = binomial_tree(b.num_ranks(), root);
  for (uint32_t r = 0; r < b.num_ranks(); ++r) {
    const Rank rank{r};
    const BinomialNode& node = tree[r];
    if (rank != root && node.children.empty()) {
      b.add_lane(rank).send(input(0), node.parent);
      continue;
    }
    const Buffer gathered = rank == root ? Buffer::kOutput : Buffer::kScratch;
    for (uint32_t block = r; rank != root && block < node.end; ++block) {
      b.add_scratch(rank, ChunkId{block});
    }
    // In a lane of its own, since what the children send need not wait for it.
    const StepRef own_copied = b.add_lane(rank).copy(input(0), {gathered, r - node.begin});
    if (node.children.empty()) continue;
    LaneWriter lane = b.add_lane(rank);
    for (size_t left = node.children.size(); left > 0; --left) {
      const Rank child = node.children[left - 1];
      const BinomialNode& below = tree[child.value];
      lane.recv({gathered, below.begin - node.begin, below.size()}, child);
    }
    if (rank != root) lane.send(scratch(0, node.size()), node.parent, {own_copied});
  }
  return std::move(b).finish();
}

}  // namespace

const Algorithm kGatherBinomial{
    .kind = CollectiveKind::kGather,
    .name = "binomial",
    .idea = "Blocks are gathered up a tree; the blocks of a subtree travel as one message.",
    .cost = "ceil(log2 p) alpha + n (p-1)/p beta",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = gather_binomial,
};

}  // namespace tutti::plan
