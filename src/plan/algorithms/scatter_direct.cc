// The root sends every rank its block, each in a lane of its own: all are on their way at once, and
// a rank that comes late holds up nobody.
//
// Cost: alpha + n (p-1)/p beta, n being the whole input, when the root can talk to all at once;
// (p-1) alpha when it pays for each message.
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"

namespace tutti::plan {
namespace {

using namespace ir;

Result<Schedule> scatter_direct(const Collective& collective, const Options&) {
  const Rank root{collective.root};
  Builder b(collective, {.name = "direct"});
  for (uint32_t r = 0; r < b.num_ranks(); ++r) {
    const Rank rank{r};
    LaneWriter at_root = b.add_lane(root);
    if (rank == root) {
      at_root.copy(input(r), output(0));
    } else {
      at_root.send(input(r), rank);
      b.add_lane(rank).recv(output(0), root);
    }
  }
  return std::move(b).finish();
}

}  // namespace

const Algorithm kScatterDirect{
    .kind = CollectiveKind::kScatter,
    .name = "direct",
    .idea = "The root sends every rank its block.",
    .cost = "alpha + n (p-1)/p beta",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = scatter_direct,
};

}  // namespace tutti::plan
