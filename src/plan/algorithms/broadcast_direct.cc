// The root sends to everyone at once, each in a lane of its own, so that a late rank holds up
// nobody.
//
// Cost: alpha + n beta where the receivers read the root's memory side by side, as ranks of one
// host do; alpha + (p-1) n beta where the root's link carries every copy.
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"

namespace tutti::plan {
namespace {

using namespace ir;

Result<Schedule> broadcast_direct(const Collective& collective, const Options&) {
  const Rank root{collective.root};
  Builder b(collective, {.name = "direct"});
  for (uint32_t r = 0; r < b.num_ranks(); ++r) {
    const Rank rank{r};
    LaneWriter at_root = b.add_lane(root);
    if (rank == root) {
      at_root.copy(input(0), output(0));
    } else {
      at_root.send(input(0), rank);
      b.add_lane(rank).recv(output(0), root);
    }
  }
  return std::move(b).finish();
}

}  // namespace

const Algorithm kBroadcastDirect{
    .kind = CollectiveKind::kBroadcast,
    .name = "direct",
    .idea = "The root sends the message to every rank at once.",
    .cost = "alpha + (p-1) n beta",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = broadcast_direct,
};

}  // namespace tutti::plan
