// For ranks that read each other's memory: everyone adds up everyone's input by itself, where it
// lies, in rank order, so that all get the same bits. Without scratch the sum must stand in the
// output from the first input on, so the call is out of place.
//
// Cost: (p-1) (alpha + n beta + n gamma) where all can read the same rank side by side, and only
// one hand-over between ranks: for short messages on one host, where alpha is next to nothing.
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/ring.h"

namespace tutti::plan {
namespace {

using namespace ir;

void write_pull_all(Builder& b, RingPlace at) {
  LaneWriter lane = b.add_lane(Rank{at.rank});
  for (uint32_t distance = 1; distance < at.num_ranks; ++distance) {
    lane.send(input(0), Rank{at.ahead(distance)});
  }
  Region sum = input(0);  // so far that of rank 0 alone
  for (uint32_t r = 0; r < at.num_ranks; ++r) {
    if (r == at.rank) {
      if (r == 0) continue;
      lane.reduce(input(0), output(0));
    } else if (r == 0) {
      lane.recv(output(0), Rank{r});
    } else {
      lane.recv_reduce(sum, output(0), Rank{r});
    }
    sum = output(0);
  }
  if (at.num_ranks == 1) lane.copy(input(0), output(0));
}

Result<Schedule> all_reduce_pull_all(const Collective& collective, const Options&) {
  Builder b(collective, {.name = "pull_all", .placement = Placement::kOutOfPlace});
  for (uint32_t r = 0; r < b.num_ranks(); ++r) write_pull_all(b, {r, b.num_ranks()});
  return std::move(b).finish();
}

}  // namespace

const Algorithm kAllReducePullAll{
    .kind = CollectiveKind::kAllReduce,
    .name = "pull_all",
    .idea = "Everyone adds up everyone's input where it lies, in rank order.",
    .cost = "(p-1) (alpha + n beta + n gamma)",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = all_reduce_pull_all,
};

}  // namespace tutti::plan
