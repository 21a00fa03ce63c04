// Everyone sends its whole input to everyone at once, and each rank adds up all of them by itself,
// in rank order (rank_order.h), so that all get the same bits.
//
// One lane a peer gives the own input and takes the peer's into scratch; one more lane adds up. In
// place the result is written over the input, so not before all peers have taken it.
//
// Cost: alpha + (p-1) n (beta + gamma): the fewest latencies there can be. Holds p-1 lanes and
// messages of scratch a rank: for short messages inside a node.
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/rank_order.h"
#include "plan/algorithms/ring.h"

namespace tutti::plan {
namespace {

using namespace ir;

void write_one_shot(Builder& b, RingPlace at) {
  const Rank rank{at.rank};
  std::vector<Arrival> arrivals(at.num_ranks);
  std::vector<StepRef> sent;
  for (uint32_t distance = 1; distance < at.num_ranks; ++distance) {
    const Rank peer{at.ahead(distance)};
    const Region place = scratch(b.add_scratch(rank, ChunkId{0}));
    LaneWriter lane = b.add_lane(rank);
    sent.push_back(lane.send(input(0), peer));
    arrivals[peer.value] = {place, lane.recv(place, peer)};
  }
  reduce_in_rank_order(b.add_lane(rank), input(0), output(0), arrivals, After(sent));
}

Result<Schedule> all_reduce_one_shot(const Collective& collective, const Options&) {
  Builder b(collective, {.name = "one_shot"});
  for (uint32_t r = 0; r < b.num_ranks(); ++r) write_one_shot(b, {r, b.num_ranks()});
  return std::move(b).finish();
}

}  // namespace

const Algorithm kAllReduceOneShot{
    .kind = CollectiveKind::kAllReduce,
    .name = "one_shot",
    .idea = "Everyone sends all to everyone, and each adds up in rank order.",
    .cost = "alpha + (p-1) n (beta + gamma)",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = all_reduce_one_shot,
};

}  // namespace tutti::plan
