// The broadcast played backwards: every round, half of the ranks that still hold a partial result
// give it to the other half.
//
// Up the binomial tree a rank combines its own contribution with its children's partial results,
// the smallest subtree first, since that one is ready first; taking the last one it forwards the
// sum to its parent in the same step. The order is that of the tree, whoever comes late; for root 0
// it is the order of ranks. Only the root has an output: the others keep their sum in scratch.
//
// Cost: ceil(log2 p) (alpha + n beta + n gamma).
#include "ir/builder.h"
#include "plan/algorithms/binomial_tree.h"
#include "plan/algorithms/catalogue.h"

namespace tutti::plan {
namespace {

using namespace ir;

// Combines the children's partial results with the rank's input, in `sum`.
void collect(LaneWriter& lane, const BinomialNode& node, Region sum) {
  Region own = input(0);
  for (size_t left = node.children.size(); left > 0; --left) {
    const Rank child = node.children[left - 1];
    if (left == 1 && node.parent != kNoRank) {
      lane.recv_reduce_copy_send(own, sum, child, node.parent);
    } else {
      lane.recv_reduce(own, sum, child);
    }
    own = sum;
  }
}

Result<Schedule> reduce_binomial(const Collective& collective, const Options&) {
  const Rank root{collective.root};
  Builder b(collective, {.name = "binomial"});
  const auto tree = binomial_tree(b.num_ranks(), root);
  for (uint32_t r = 0; r < b.num_ranks(); ++r) {
    const Rank rank{r};
    const BinomialNode& node = tree[r];
    LaneWriter lane = b.add_lane(rank);
    if (!node.children.empty()) {
      collect(lane, node, rank == root ? output(0) : scratch(b.add_scratch(rank, ChunkId{0})));
    } else if (rank == root) {
      lane.copy(input(0), output(0));
    } else {
      lane.send(input(0), node.parent);
    }
  }
  return std::move(b).finish();
}

}  // namespace

const Algorithm kReduceBinomial{
    .kind = CollectiveKind::kReduce,
    .name = "binomial",
    .idea = "Partial results are combined in pairs up a tree; their number halves each round.",
    .cost = "ceil(log2 p) (alpha + n beta + n gamma)",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = reduce_binomial,
};

}  // namespace tutti::plan
