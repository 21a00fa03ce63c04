// Everyone sends every block's contribution straight to the block's owner, all at once: one lane a
// peer, which gives the contribution to the peer's block and takes the peer's to the own block into
// scratch. One more lane adds up, in rank order (rank_order.h), what has arrived.
//
// Cost: alpha + n (p-1)/p (beta + gamma) where all pairs of ranks have links of their own or a
// switch between them. Holds p-1 lanes and as many blocks of scratch a rank: for one node.
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/rank_order.h"
#include "plan/algorithms/ring.h"

namespace tutti::plan {
namespace {

using namespace ir;

void write_reduce_scatter_direct(Builder& b, RingPlace at) {
  const Rank rank{at.rank};
  std::vector<Arrival> arrivals(at.num_ranks);
  for (uint32_t distance = 1; distance < at.num_ranks; ++distance) {
    const Rank peer{at.ahead(distance)};
    const Region place = scratch(b.add_scratch(rank, ChunkId{at.rank}));
    LaneWriter lane = b.add_lane(rank);
    lane.send(input(peer.value), peer);
    arrivals[peer.value] = {place, lane.recv(place, peer)};
  }
  reduce_in_rank_order(b.add_lane(rank), input(at.rank), output(0), arrivals, {});
}

Result<Schedule> reduce_scatter_direct(const Collective& collective, const Options&) {
  Builder b(collective, {.name = "direct"});
  for (uint32_t r = 0; r < b.num_ranks(); ++r) write_reduce_scatter_direct(b, {r, b.num_ranks()});
  return std::move(b).finish();
}

}  // namespace

const Algorithm kReduceScatterDirect{
    .kind = CollectiveKind::kReduceScatter,
    .name = "direct",
    .idea = "Everyone sends to every owner at once; owners add up in rank order.",
    .cost = "alpha + n (p-1)/p (beta + gamma)",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = reduce_scatter_direct,
};

}  // namespace tutti::plan
