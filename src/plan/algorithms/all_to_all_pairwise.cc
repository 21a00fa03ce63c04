// In round i every rank sends its block to the rank i ahead and takes the one from the rank i
// behind.
//
// A round's send waits until the one before was taken, so that rounds stay in step: at any time
// each rank sends to one and takes from one, and nobody is the target of many.
//
// Cost: (p-1) alpha + n (p-1)/p beta: every byte travels once.
#include <optional>

#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/ring.h"

namespace tutti::plan {
namespace {

using namespace ir;

void write_all_to_all_pairwise(Builder& b, RingPlace at) {
  b.add_lane(Rank{at.rank}).copy(input(at.rank), output(at.rank));
  if (at.num_ranks == 1) return;
  LaneWriter lane = b.add_lane(Rank{at.rank});
  std::optional<StepRef> sent;
  for (uint32_t round = 1; round < at.num_ranks; ++round) {
    const Rank to{at.ahead(round)};
    const Rank from{at.behind(round)};
    sent = lane.send(input(to.value), to, sent ? After({&*sent, 1}) : After());
    lane.recv(output(from.value), from);
  }
}

Result<Schedule> all_to_all_pairwise(const Collective& collective, const Options&) {
  Builder b(collective, {.name = "pairwise", .placement = Placement::kOutOfPlace});
  for (uint32_t r = 0; r < b.num_ranks(); ++r) write_all_to_all_pairwise(b, {r, b.num_ranks()});
  return std::move(b).finish();
}

}  // namespace

const Algorithm kAllToAllPairwise{
    .kind = CollectiveKind::kAllToAll,
    .name = "pairwise",
    .idea = "In round i every rank sends to the rank i ahead and takes from the rank i behind.",
    .cost = "(p-1) alpha + n (p-1)/p beta",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = all_to_all_pairwise,
};

}  // namespace tutti::plan
