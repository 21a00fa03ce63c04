// In round i every rank gives its contribution to the block of the rank i ahead, and adds to its
// own block what it takes from the rank i behind.
//
// A round's send waits until the one before was taken, so that at any time each rank sends to one
// and takes from one. The sum grows in output in the order r, r-1, r-2, ...; no scratch.
//
// Cost: (p-1) alpha + n (p-1)/p (beta + gamma): as the ring, but without waiting for the slowest
// neighbour, and with as many partners as there are ranks.
#include <optional>

#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/ring.h"

namespace tutti::plan {
namespace {

using namespace ir;

void write_reduce_scatter_pairwise(Builder& b, RingPlace at) {
  LaneWriter lane = b.add_lane(Rank{at.rank});
  Region sum = input(at.rank);
  std::optional<StepRef> sent;
  for (uint32_t round = 1; round < at.num_ranks; ++round) {
    const Rank to{at.ahead(round)};
    sent = lane.send(input(to.value), to, sent ? After({&*sent, 1}) : After());
    lane.recv_reduce(sum, output(0), Rank{at.behind(round)});
    sum = output(0);
  }
  if (at.num_ranks == 1) lane.copy(input(0), output(0));
}

Result<Schedule> reduce_scatter_pairwise(const Collective& collective, const Options&) {
  Builder b(collective, {.name = "pairwise"});
  for (uint32_t r = 0; r < b.num_ranks(); ++r) write_reduce_scatter_pairwise(b, {r, b.num_ranks()});
  return std::move(b).finish();
}

}  // namespace

const Algorithm kReduceScatterPairwise{
    .kind = CollectiveKind::kReduceScatter,
    .name = "pairwise",
    .idea = "In round i every rank gives to the rank i ahead and adds up from the rank i behind.",
    .cost = "(p-1) alpha + n (p-1)/p (beta + gamma)",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = reduce_scatter_pairwise,
};

}  // namespace tutti::plan
