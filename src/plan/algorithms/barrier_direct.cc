// Everyone tells everyone that it is there. The messages are empty: that they come is what they
// say.
//
// Cost: alpha, with p-1 messages a rank.
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/ring.h"

namespace tutti::plan {
namespace {

using namespace ir;

constexpr Region kNothingToMove{Buffer::kInput, 0, 0};

Result<Schedule> barrier_direct(const Collective& collective, const Options&) {
  Builder b(collective, {.name = "direct", .placement = Placement::kOutOfPlace});
  const uint32_t p = b.num_ranks();
  for (uint32_t r = 0; r < p; ++r) {
    for (uint32_t distance = 1; distance < p; ++distance) {
      const Rank peer{RingPlace{r, p}.ahead(distance)};
      LaneWriter lane = b.add_lane(Rank{r});
      lane.send(kNothingToMove, peer);
      lane.recv(kNothingToMove, peer);
    }
  }
  return std::move(b).finish();
}

}  // namespace

const Algorithm kBarrierDirect{
    .kind = CollectiveKind::kBarrier,
    .name = "direct",
    .idea = "Everyone tells everyone that it is there.",
    .cost = "alpha",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = barrier_direct,
};

}  // namespace tutti::plan
