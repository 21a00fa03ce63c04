// The root hands half of the ranks' blocks to one of that half and goes on with its own half; who
// has several blocks does the same. Few, shrinking messages in place of one a rank.
//
// The blocks of a subtree of the binomial tree are consecutive (binomial_tree.h), so each message
// is one region of the root's input. A rank with children takes it into scratch, its own block
// first, copies that to its output and passes the rest on; a leaf takes its block into its output.
// A send starts when the one before it was taken, the largest subtree first.
//
// Cost: ceil(log2 p) alpha + n (p-1)/p beta, n being the whole input; any root.
#include <optional>

#include "ir/builder.h"
#include "plan/algorithms/binomial_tree.h"
#include "plan/algorithms/catalogue.h"

namespace tutti::plan {
namespace {

using namespace ir;

Result<Schedule> scatter_binomial(const Collective& collective, const Options&) {
  const Rank root{collective.root};
  Builder b(collective, {.name = "binomial"});
  const auto tree = binomial_tree(b.num_ranks(), root);
  for (uint32_t r = 0; r < b.num_ranks(); ++r) {
    const Rank rank{r};
    const BinomialNode& node = tree[r];
    LaneWriter lane = b.add_lane(rank);
    if (node.children.empty()) {
      rank == root ? lane.copy(input(0), output(0)) : lane.recv(output(0), node.parent);
      continue;
    }
    const Buffer whole = rank == root ? Buffer::kInput : Buffer::kScratch;
    std::optional<StepRef> arrived;
    if (rank != root) {
      for (uint32_t block = r; block < node.end; ++block) b.add_scratch(rank, ChunkId{block});
      arrived = lane.recv(scratch(0, node.size()), node.parent);
    }
    std::optional<StepRef> given;
    for (const Rank child : node.children) {
      const BinomialNode& below = tree[child.value];
      const Region blocks{whole, below.begin - node.begin, below.size()};
      given = given ? lane.send(blocks, child, {*given}) : lane.send(blocks, child);
    }
    const Region own{whole, r - node.begin};
    LaneWriter beside = b.add_lane(rank);
    arrived ? beside.copy(own, output(0), {*arrived}) : beside.copy(own, output(0));
  }
  return std::move(b).finish();
}

}  // namespace

const Algorithm kScatterBinomial{
    .kind = CollectiveKind::kScatter,
    .name = "binomial",
    .idea = "Blocks are handed down a tree; the blocks of a subtree travel as one message.",
    .cost = "ceil(log2 p) alpha + n (p-1)/p beta",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = scatter_binomial,
};

}  // namespace tutti::plan
