// For ranks that read each other's memory: the owner of a block adds the others' contributions to
// the result one by one, where they lie, from its own on around the ring of ranks. One lane a peer
// offers the contribution to the peer's block and takes the peer's to the own.
//
// Cost: (p-1) (alpha + n/p beta + n/p gamma): a message is taken when it is its turn. For one host,
// where alpha is next to nothing.
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/own_first.h"
#include "plan/algorithms/ring.h"

namespace tutti::plan {
namespace {

using namespace ir;

void write_rank(Builder& b, RingPlace at) {
  const Rank rank{at.rank};
  OwnFirst sum(input(at.rank), output(0));
  for (uint32_t distance = 1; distance < at.num_ranks; ++distance) {
    const Rank peer{at.ahead(distance)};
    LaneWriter lane = b.add_lane(rank);
    lane.send(input(peer.value), peer);
    sum.add(lane, peer);
  }
  if (at.num_ranks == 1) sum.finish(b.add_lane(rank));
}

Result<Schedule> make_schedule(const Collective& collective, const Options&) {
  Builder b(collective, {.name = "pull"});
  for (uint32_t r = 0; r < b.num_ranks(); ++r) write_rank(b, {r, b.num_ranks()});
  return std::move(b).finish();
}

}  // namespace

const Algorithm kReduceScatterPull{
    .kind = CollectiveKind::kReduceScatter,
    .name = "pull",
    .idea = "Owners add up their block where it lies, rank by rank.",
    .cost = "(p-1) (alpha + n/p beta + n/p gamma)",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = make_schedule,
};

}  // namespace tutti::plan
