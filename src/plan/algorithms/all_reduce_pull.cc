// The two shots of all_reduce_two_shot.cc for ranks that read each other's memory: the owner of a
// chunk adds the others' contributions to the result one by one, where they lie, from its own on
// around the ring of ranks. There is no scratch and nothing is copied first. A chunk has one owner,
// so all ranks get the same bits.
//
// One lane a peer serves both shots. What a peer sends in the second shot contains what it took in
// the first, so it can be written over it.
//
// Cost: p alpha + 2 n (p-1)/p beta + n (p-1)/p gamma: a message is taken when it is its turn. For
// one host, where alpha is next to nothing.
#include "base/try.h"
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/chunking.h"
#include "plan/algorithms/own_first.h"
#include "plan/algorithms/ring.h"

namespace tutti::plan {
namespace {

using namespace ir;

void write_rank(Builder& b, RingPlace at) {
  OwnFirst sum(input(at.rank), output(at.rank));
  std::vector<LaneWriter> lanes;
  for (uint32_t distance = 1; distance < at.num_ranks; ++distance) {
    const Rank peer{at.ahead(distance)};
    lanes.push_back(b.add_lane(Rank{at.rank}));
    lanes.back().send(input(peer.value), peer);
    sum.add(lanes.back(), peer);
  }
  if (lanes.empty()) lanes.push_back(b.add_lane(Rank{at.rank}));
  const StepRef reduced = sum.finish(lanes.back());
  for (uint32_t distance = 1; distance < at.num_ranks; ++distance) {
    const Rank peer{at.ahead(distance)};
    lanes[distance - 1].send(output(at.rank), peer, {reduced});
    lanes[distance - 1].recv(output(peer.value), peer);
  }
}

Result<Schedule> make_schedule(const Collective& collective, const Options&) {
  TUTTI_ASSIGN(const uint32_t p, chunks_per_block(collective, collective.num_ranks));
  Builder b(collective, {.name = "pull", .chunks_per_block = p});
  for (uint32_t r = 0; r < p; ++r) write_rank(b, {r, p});
  return std::move(b).finish();
}

}  // namespace

const Algorithm kAllReducePull{
    .kind = CollectiveKind::kAllReduce,
    .name = "pull",
    .idea =
        "Owners add up their chunk where it lies, rank by rank; then everyone takes every result.",
    .cost = "p alpha + 2 n (p-1)/p beta + n (p-1)/p gamma",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = make_schedule,
};

}  // namespace tutti::plan
