// Everyone sends its block to everyone at once: one lane a peer, which gives the own block and
// takes the peer's. The lanes of different ranks start with different peers, so that nobody is the
// first target of all.
//
// Cost: alpha + n (p-1)/p beta where all pairs of ranks have links of their own or a switch between
// them. Holds p-1 lanes a rank: for the ranks of one node.
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/ring.h"

namespace tutti::plan {
namespace {

using namespace ir;

Result<Schedule> all_gather_direct(const Collective& collective, const Options&) {
  Builder b(collective, {.name = "direct"});
  const uint32_t p = b.num_ranks();
  for (uint32_t r = 0; r < p; ++r) {
    for (uint32_t distance = 1; distance < p; ++distance) {
      const Rank peer{RingPlace{r, p}.ahead(distance)};
      LaneWriter lane = b.add_lane(Rank{r});
      lane.send(input(0), peer);
      lane.recv(output(peer.value), peer);
    }
    b.add_lane(Rank{r}).copy(input(0), output(r));
  }
  return std::move(b).finish();
}

}  // namespace

const Algorithm kAllGatherDirect{
    .kind = CollectiveKind::kAllGather,
    .name = "direct",
    .idea = "Everyone sends its block to everyone at once.",
    .cost = "alpha + n (p-1)/p beta",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = all_gather_direct,
};

}  // namespace tutti::plan
