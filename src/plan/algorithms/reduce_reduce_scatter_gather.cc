// Cut the message into p chunks; let every chunk travel around the ring of ranks and collect their
// contributions, so that rank c ends with the result of chunk c; then gather the results up a
// binomial tree. Long messages are added up by all ranks at once.
//
// Ring: the sum of chunk c sets out from rank c + 1 and is complete at rank c. On its way it lies
// in one of two travel positions, used in turn: a sum waits until the one two before it was taken.
// Gather: a rank's scratch begins with a home position for each chunk of its subtree, which are
// consecutive; so what its children send lands beside its own, and all goes up as one message. The
// root has its output for that.
//
// Cost: (p - 1 + ceil(log2 p)) alpha + 2 n (p-1)/p beta + n (p-1)/p gamma.
#include <algorithm>
#include <span>

#include "ir/builder.h"
#include "plan/algorithms/binomial_tree.h"
#include "plan/algorithms/catalogue.h"

namespace tutti::plan {
namespace {

using namespace ir;

constexpr uint32_t kTravelPositions = 2;

class ReduceScatterGatherWriter {
 public:
  explicit ReduceScatterGatherWriter(const Collective& collective)
      : b_(collective, {.name = "reduce_scatter_gather", .chunks_per_block = collective.num_ranks}),
        root_(collective.root),
        tree_(binomial_tree(collective.num_ranks, root_)) {}

  Schedule write() && {
    if (b_.num_ranks() == 1) b_.add_lane(root_).copy(input(0), output(0));
    for (uint32_t r = 0; b_.num_ranks() > 1 && r < b_.num_ranks(); ++r) {
      LaneWriter lane = b_.add_lane(Rank{r});
      add_scratch(lane.rank());
      pass_around(lane);
      complete_own(lane);
      gather(lane);
    }
    return std::move(b_).finish();
  }

 private:
  const BinomialNode& node(Rank rank) const { return tree_[rank.value]; }
  Rank previous(Rank rank) const {
    return Rank{(rank.value + b_.num_ranks() - 1) % b_.num_ranks()};
  }
  Rank next(Rank rank) const { return Rank{(rank.value + 1) % b_.num_ranks()}; }
  uint32_t num_homes(Rank rank) const { return rank == root_ ? 0 : node(rank).size(); }

  // Where the results of the chunks below `below` lie on a rank.
  Region home(Rank rank, const BinomialNode& below) const {
    if (rank == root_) return output(below.begin, below.size());
    return scratch(below.begin - node(rank).begin, below.size());
  }

  void add_scratch(Rank rank) {
    for (uint32_t i = 0; i < num_homes(rank); ++i) {
      b_.add_scratch(rank, ChunkId{node(rank).begin + i});
    }
    const uint32_t travelling = std::min(kTravelPositions, b_.num_ranks() - 2);
    for (uint32_t i = 0; i < travelling; ++i) b_.add_scratch(rank, kAnyChunk);
  }

  void pass_around(LaneWriter& lane) {
    const uint32_t p = b_.num_ranks();
    const Rank rank = lane.rank();
    lane.send(input(previous(rank).value), next(rank));
    StepRef users[kTravelPositions];
    for (uint32_t i = 0; i + 2 < p; ++i) {
      const uint32_t chunk = (rank.value + 2 * p - 2 - i) % p;
      StepRef& user = users[i % kTravelPositions];
      const After freed = i < kTravelPositions ? After() : After(std::span(&user, 1));
      user =
          lane.recv_reduce_copy_send(input(chunk), scratch(num_homes(rank) + i % kTravelPositions),
                                     previous(rank), next(rank), freed);
    }
  }

  // The last stop of the rank's own chunk. Who has no children sends the result on at once.
  void complete_own(LaneWriter& lane) {
    const Rank rank = lane.rank();
    const Region result = rank == root_ ? output(rank.value) : scratch(0);
    if (rank != root_ && node(rank).children.empty()) {
      lane.recv_reduce_copy_send(input(rank.value), result, previous(rank), node(rank).parent);
    } else {
      lane.recv_reduce(input(rank.value), result, previous(rank));
    }
  }

  void gather(LaneWriter& lane) {
    const Rank rank = lane.rank();
    const auto& children = node(rank).children;
    if (children.empty()) return;
    for (size_t left = children.size(); left > 0; --left) {
      const Rank child = children[left - 1];
      lane.recv(home(rank, node(child)), child);
    }
    if (rank != root_) lane.send(home(rank, node(rank)), node(rank).parent);
  }

  Builder b_;
  Rank root_;
  std::vector<BinomialNode> tree_;
};

Result<Schedule> reduce_reduce_scatter_gather(const Collective& collective, const Options&) {
  return ReduceScatterGatherWriter(collective).write();
}

}  // namespace

const Algorithm kReduceReduceScatterGather{
    .kind = CollectiveKind::kReduce,
    .name = "reduce_scatter_gather",
    .idea = "Each rank adds up one part of the message on a ring; the root gathers the parts.",
    .cost = "(p - 1 + ceil(log2 p)) alpha + 2 n (p-1)/p beta + n (p-1)/p gamma",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = reduce_reduce_scatter_gather,
};

}  // namespace tutti::plan
