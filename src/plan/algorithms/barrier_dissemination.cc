// The news that a rank has arrived spreads like a rumour: in round i every rank tells the rank 2^i
// after it, around, and hears from the one 2^i before it. What a rank tells is all that it has
// heard, so after round i it knows of the 2^(i+1) ranks up to itself, and of all p after ceil(log2
// p) rounds, p a power of two or not. The messages are empty: that they come is what they say.
//
// Cost: ceil(log2 p) alpha.
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"

namespace tutti::plan {
namespace {

using namespace ir;

constexpr Region kNothing{Buffer::kInput, 0, 0};

Result<Schedule> barrier_dissemination(const Collective& collective, const Options&) {
  Builder b(collective, {.name = "dissemination", .placement = Placement::kOutOfPlace});
  const uint64_t p = b.num_ranks();
  for (uint32_t r = 0; p > 1 && r < p; ++r) {
    LaneWriter lane = b.add_lane(Rank{r});
    for (uint64_t distance = 1; distance < p; distance *= 2) {
      lane.send(kNothing, Rank{static_cast<uint32_t>((r + distance) % p)});
      lane.recv(kNothing, Rank{static_cast<uint32_t>((r + p - distance) % p)});
    }
  }
  return std::move(b).finish();
}

}  // namespace

const Algorithm kBarrierDissemination{
    .kind = CollectiveKind::kBarrier,
    .name = "dissemination",
    .idea = "Each round every rank tells a rank twice as far away all that it has heard.",
    .cost = "ceil(log2 p) alpha",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = barrier_dissemination,
};

}  // namespace tutti::plan
