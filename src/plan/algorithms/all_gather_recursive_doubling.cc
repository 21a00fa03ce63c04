// Groups of ranks that share all their blocks merge two by two: each rank of one half exchanges
// what its half has with a rank of the other, so what a rank has doubles in every round.
//
// The groups are those of recursive halving, read backwards (halving.h): any number of ranks takes
// ceil(log2 p) rounds. Where the halves differ in size, one rank of the smaller half serves two
// ranks of the larger. A group's blocks are consecutive, so every message is one region of output.
//
// Cost: ceil(log2 p) alpha + n (p-1)/p beta. When p is no power of two, some ranks serve two in a
// round; that costs up to n beta more (simulated to 128 ranks).
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/halving.h"

namespace tutti::plan {
namespace {

using namespace ir;

Result<Schedule> all_gather_recursive_doubling(const Collective& collective, const Options&) {
  Builder b(collective, {.name = "recursive_doubling"});
  const uint32_t p = b.num_ranks();
  for (uint32_t r = 0; r < p; ++r) {
    LaneWriter lane = b.add_lane(Rank{r});
    lane.copy(input(0), output(r));
    if (p > 1) gather_by_doubling(lane, halve(p, Rank{r}), 0);
  }
  return std::move(b).finish();
}

}  // namespace

const Algorithm kAllGatherRecursiveDoubling{
    .kind = CollectiveKind::kAllGather,
    .name = "recursive_doubling",
    .idea = "Groups exchange all they have and merge, two by two, until one is left.",
    .cost = "ceil(log2 p) alpha + n (p-1)/p beta, up to n beta more when p is no power of 2",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = all_gather_recursive_doubling,
};

}  // namespace tutti::plan
