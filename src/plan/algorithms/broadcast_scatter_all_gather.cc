// Cut the message into p chunks, scatter them so that every rank has at least the chunk of its own
// number, then let all chunks travel around the ring of ranks (van de Geijn's broadcast).
//
// Scatter: down the binomial tree a child gets the chunks of its subtree, `held`, which are
// consecutive. Ring: rank r passes chunk r, then r - 1, r - 2, ... to rank r + 1, the first from
// its own memory and the others as they come in. What the next rank has held since the scatter is
// not sent again. The root holds everything, so nothing goes to it and the ring is a chain that
// cannot bite its tail.
//
// Cost: (ceil(log2 p) + p - 1) alpha + 2 n (p-1)/p beta. For long messages on few ranks.
#include <optional>

#include "ir/builder.h"
#include "plan/algorithms/binomial_tree.h"
#include "plan/algorithms/catalogue.h"

namespace tutti::plan {
namespace {

using namespace ir;

class ScatterAllGatherWriter {
 public:
  explicit ScatterAllGatherWriter(const Collective& collective)
      : b_(collective, {.name = "scatter_all_gather", .chunks_per_block = collective.num_ranks}),
        root_(collective.root),
        held_(binomial_tree(collective.num_ranks, root_)) {}

  Schedule write() && {
    const uint32_t p = b_.num_ranks();
    b_.add_lane(root_).copy(input(0, p), output(0, p));
    for (uint32_t r = 0; p > 1 && r < p; ++r) {
      LaneWriter lane = b_.add_lane(Rank{r});
      last_send_.reset();
      scatter(lane);
      pass_around(lane);
    }
    return std::move(b_).finish();
  }

 private:
  Region have(Rank rank, uint32_t chunk, uint32_t count) const {
    return rank == root_ ? input(chunk, count) : output(chunk, count);
  }

  // A send waits until the one before it was taken, so that each has the whole bandwidth.
  void send(LaneWriter& lane, Region src, Rank to) {
    last_send_ = last_send_ ? lane.send(src, to, {*last_send_}) : lane.send(src, to);
  }

  void scatter(LaneWriter& lane) {
    const BinomialNode& held = held_[lane.rank().value];
    if (lane.rank() != root_) lane.recv(output(held.begin, held.size()), held.parent);
    for (const Rank child : held.children) {
      const BinomialNode& below = held_[child.value];
      send(lane, have(lane.rank(), below.begin, below.size()), child);
    }
  }

  void pass_around(LaneWriter& lane) {
    const uint32_t p = b_.num_ranks();
    const uint32_t r = lane.rank().value;
    const Rank previous{(r + p - 1) % p};
    const Rank next{(r + 1) % p};
    for (uint32_t distance = 0; distance < p; ++distance) {
      const uint32_t chunk = (r + p - distance) % p;
      const bool comes = !held_[r].contains(chunk);
      const bool goes = !held_[next.value].contains(chunk);
      if (comes && goes) {
        last_send_ = lane.recv_copy_send(output(chunk), previous, next);
      } else if (comes) {
        lane.recv(output(chunk), previous);
      } else if (goes) {
        send(lane, have(lane.rank(), chunk, 1), next);
      }
    }
  }

  Builder b_;
  Rank root_;
  std::vector<BinomialNode> held_;  // of each rank: the chunks it holds after the scatter
  std::optional<StepRef> last_send_;
};

Result<Schedule> broadcast_scatter_all_gather(const Collective& collective, const Options&) {
  return ScatterAllGatherWriter(collective).write();
}

}  // namespace

const Algorithm kBroadcastScatterAllGather{
    .kind = CollectiveKind::kBroadcast,
    .name = "scatter_all_gather",
    .idea = "Scatter the message over all ranks, then pass the parts around the ring.",
    .cost = "(ceil(log2 p) + p - 1) alpha + 2 n (p-1)/p beta",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = broadcast_scatter_all_gather,
};

}  // namespace tutti::plan
