// Whoever has the message gives it to one who has not: the number of holders doubles each round.
//
// The root halves the ranks, sends to the head of the half it is not in, and goes on with its own
// half; every head does the same from the moment it has the message (binomial_tree.h). A rank
// serves its children one after the other, the largest subtree first: each send starts when the one
// before it was taken, so it has the rank's whole bandwidth, and the child with most work starts
// first.
//
// Cost: ceil(log2 p) (alpha + n beta). Least latency; n beta is paid once a round.
#include "ir/builder.h"
#include "plan/algorithms/binomial_tree.h"
#include "plan/algorithms/catalogue.h"

namespace tutti::plan {
namespace {

using namespace ir;

Result<Schedule> broadcast_binomial(const Collective& collective, const Options&) {
  const Rank root{collective.root};
  Builder b(collective, {.name = "binomial"});
  const auto tree = binomial_tree(b.num_ranks(), root);
  b.add_lane(root).copy(input(0), output(0));
  for (uint32_t r = 0; r < b.num_ranks(); ++r) {
    const Rank rank{r};
    const BinomialNode& node = tree[r];
    if (rank == root && node.children.empty()) continue;
    LaneWriter lane = b.add_lane(rank);
    if (rank != root && node.children.empty()) {
      lane.recv(output(0), node.parent);
      continue;
    }
    const Rank eldest = node.children.front();
    StepRef given = rank == root ? lane.send(input(0), eldest)
                                 : lane.recv_copy_send(output(0), node.parent, eldest);
    for (size_t i = 1; i < node.children.size(); ++i) {
      given = lane.send(rank == root ? input(0) : output(0), node.children[i], {given});
    }
  }
  return std::move(b).finish();
}

}  // namespace

const Algorithm kBroadcastBinomial{
    .kind = CollectiveKind::kBroadcast,
    .name = "binomial",
    .idea = "The number of ranks that have the message doubles each round.",
    .cost = "ceil(log2 p) (alpha + n beta)",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = broadcast_binomial,
};

}  // namespace tutti::plan
