// Everyone sends its block to the root. The root takes each in a lane of its own, so that blocks
// come in as they are ready and a late rank holds up nobody.
//
// Cost: alpha + n (p-1)/p beta, n being the gathered whole, when the root can listen to all at
// once; (p-1) alpha when it pays for each message.
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"

namespace tutti::plan {
namespace {

using namespace ir;

Result<Schedule> gather_direct(const Collective& collective, const Options&) {
  const Rank root{collective.root};
  Builder b(collective, {.name = "direct"});
  for (uint32_t r = 0; r < b.num_ranks(); ++r) {
    const Rank rank{r};
    LaneWriter at_root = b.add_lane(root);
    if (rank == root) {
      at_root.copy(input(0), output(r));
    } else {
      at_root.recv(output(r), rank);
      b.add_lane(rank).send(input(0), root);
    }
  }
  return std::move(b).finish();
}

}  // namespace

const Algorithm kGatherDirect{
    .kind = CollectiveKind::kGather,
    .name = "direct",
    .idea = "Every rank sends its block straight to the root.",
    .cost = "alpha + n (p-1)/p beta",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = gather_direct,
};

}  // namespace tutti::plan
