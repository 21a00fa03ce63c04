// Everyone sends to everyone at once: one lane a peer, which gives the peer its block and takes the
// peer's. The lanes of different ranks start with different peers, so that nobody is the first
// target of all.
//
// Cost: alpha + n (p-1)/p beta where all pairs of ranks have links of their own or a switch between
// them. Holds p-1 lanes a rank: for the ranks of one node.
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/ring.h"

namespace tutti::plan {
namespace {

using namespace ir;

void write_all_to_all_direct(Builder& b, RingPlace at) {
  for (uint32_t distance = 1; distance < at.num_ranks; ++distance) {
    const Rank peer{at.ahead(distance)};
    LaneWriter lane = b.add_lane(Rank{at.rank});
    lane.send(input(peer.value), peer);
    lane.recv(output(peer.value), peer);
  }
  b.add_lane(Rank{at.rank}).copy(input(at.rank), output(at.rank));
}

Result<Schedule> all_to_all_direct(const Collective& collective, const Options&) {
  Builder b(collective, {.name = "direct", .placement = Placement::kOutOfPlace});
  for (uint32_t r = 0; r < b.num_ranks(); ++r) write_all_to_all_direct(b, {r, b.num_ranks()});
  return std::move(b).finish();
}

}  // namespace

const Algorithm kAllToAllDirect{
    .kind = CollectiveKind::kAllToAll,
    .name = "direct",
    .idea = "Everyone sends every block to its receiver at once.",
    .cost = "alpha + n (p-1)/p beta",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = all_to_all_direct,
};

}  // namespace tutti::plan
