// Groups of ranks that share all their blocks merge two by two: each rank of one half exchanges
// what its half has with a rank of the other, so what a rank has doubles in every round.
//
// The groups are those of recursive halving, read backwards (halving.h): any number of ranks takes
// ceil(log2 p) rounds. Where the halves differ in size, one rank of the smaller half serves two
// ranks of the larger. A group's blocks are consecutive, so every message is one region of output.
//
// Cost: ceil(log2 p) alpha + n (p-1)/p beta. When p is no power of two, some ranks send twice in a
// round, up to about n/2 more.
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/halving.h"

namespace tutti::plan {
namespace {

using namespace ir;

void write_rank(Builder& b, Rank rank) {
  LaneWriter lane = b.add_lane(rank);
  const std::vector<Split> splits = halve(b.num_ranks(), rank);
  for (size_t left = splits.size(); left > 0; --left) {
    const Split& split = splits[left - 1];
    const bool is_first = left == splits.size();  // `mine` is the own block alone
    const Region have = is_first ? input(0) : output(split.mine.begin, split.mine.size());
    for (const Rank peer : split.takes_from) lane.send(have, peer);
    if (is_first) lane.copy(input(0), output(rank.value));
    lane.recv(output(split.other.begin, split.other.size()), split.gives_to);
  }
  if (splits.empty()) lane.copy(input(0), output(0));
}

Result<Schedule> make_schedule(const Collective& collective, const Options&) {
  Builder b(collective, {.name = "recursive_doubling"});
  for (uint32_t r = 0; r < b.num_ranks(); ++r) write_rank(b, Rank{r});
  return std::move(b).finish();
}

}  // namespace

const Algorithm kAllGatherRecursiveDoubling{
    .kind = CollectiveKind::kAllGather,
    .name = "recursive_doubling",
    .idea = "Groups exchange all they have and merge, two by two, until one is left.",
    .cost =
        "ceil(log2 p) alpha + n (p-1)/p beta, up to about n/2 beta more when p is no power of 2",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = make_schedule,
};

}  // namespace tutti::plan
