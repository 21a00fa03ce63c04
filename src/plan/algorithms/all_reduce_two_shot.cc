// Cut the message into p chunks. First shot: everyone sends chunk q to rank q, which adds up in
// rank order (rank_order.h). Second shot: everyone sends its result to everyone.
//
// One lane a peer serves both shots, the second after the lane that adds up is done. What a peer
// sends in the second shot contains what it took in the first, so it can be written over it.
//
// Cost: 2 alpha + 2 n (p-1)/p beta + n (p-1)/p gamma where all pairs of ranks have links of their
// own or a switch between them. Holds p-1 lanes and chunks of scratch a rank: for one node.
#include "base/try.h"
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/chunking.h"
#include "plan/algorithms/rank_order.h"
#include "plan/algorithms/ring.h"

namespace tutti::plan {
namespace {

using namespace ir;

void write_two_shot(Builder& b, RingPlace at) {
  const Rank rank{at.rank};
  std::vector<LaneWriter> lanes;
  std::vector<Arrival> arrivals(at.num_ranks);
  for (uint32_t distance = 1; distance < at.num_ranks; ++distance) {
    const Rank peer{at.ahead(distance)};
    const Region place = scratch(b.add_scratch(rank, ChunkId{at.rank}));
    lanes.push_back(b.add_lane(rank));
    lanes.back().send(input(peer.value), peer);
    arrivals[peer.value] = {place, lanes.back().recv(place, peer)};
  }
  const StepRef reduced =
      reduce_in_rank_order(b.add_lane(rank), input(at.rank), output(at.rank), arrivals, {});
  for (uint32_t distance = 1; distance < at.num_ranks; ++distance) {
    const Rank peer{at.ahead(distance)};
    lanes[distance - 1].send(output(at.rank), peer, {reduced});
    lanes[distance - 1].recv(output(peer.value), peer);
  }
}

Result<Schedule> all_reduce_two_shot(const Collective& collective, const Options&) {
  TUTTI_ASSIGN(const uint32_t p, chunks_per_block(collective, collective.num_ranks));
  Builder b(collective, {.name = "two_shot", .chunks_per_block = p});
  for (uint32_t r = 0; r < p; ++r) write_two_shot(b, {r, p});
  return std::move(b).finish();
}

}  // namespace

const Algorithm kAllReduceTwoShot{
    .kind = CollectiveKind::kAllReduce,
    .name = "two_shot",
    .idea = "Everyone sends to every chunk's owner; every owner sends its result to everyone.",
    .cost = "2 alpha + 2 n (p-1)/p beta + n (p-1)/p gamma",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = all_reduce_two_shot,
};

}  // namespace tutti::plan
