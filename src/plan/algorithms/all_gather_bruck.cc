// In the round of distance d = 1, 2, 4, ... a rank has the d blocks that begin with its own; it
// gets the next d (in the last round: what is still missing) from the rank d ahead, and gives its
// own first ones to the rank d behind. Any number of ranks takes ceil(log2 p) rounds.
//
// Blocks go to their final position at once, so there is nothing to rotate at the end. What is sent
// begins with the sender's block and may wrap around from the last block to the first; a message
// is one region, so a wrapping one goes as two.
//
// Cost: ceil(log2 p) alpha + n (p-1)/p beta, and one alpha more for each message that wraps.
#include <algorithm>

#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/ring.h"

namespace tutti::plan {
namespace {

using namespace ir;

// The blocks [first, first + count) of output, cut where the block numbers wrap.
std::vector<Region> regions_of(uint32_t first, uint32_t count, uint32_t num_ranks) {
  const uint32_t before_wrap = std::min(count, num_ranks - first);
  if (before_wrap == count) return {output(first, count)};
  return {output(first, before_wrap), output(0, count - before_wrap)};
}

void write_rank(Builder& b, RingPlace at) {
  const uint32_t p = at.num_ranks;
  LaneWriter lane = b.add_lane(Rank{at.rank});
  for (uint64_t distance = 1; distance < p; distance *= 2) {
    const auto count = static_cast<uint32_t>(std::min(distance, p - distance));
    const Rank behind{at.behind(distance)};
    const Rank ahead{at.ahead(distance)};
    if (distance == 1) {
      lane.send(input(0), behind);
      lane.copy(input(0), output(at.rank));
    } else {
      for (const Region have : regions_of(at.rank, count, p)) lane.send(have, behind);
    }
    for (const Region missing : regions_of(ahead.value, count, p)) lane.recv(missing, ahead);
  }
  if (p == 1) lane.copy(input(0), output(0));
}

Result<Schedule> make_schedule(const Collective& collective, const Options&) {
  Builder b(collective, {.name = "bruck"});
  for (uint32_t r = 0; r < b.num_ranks(); ++r) write_rank(b, {r, b.num_ranks()});
  return std::move(b).finish();
}

}  // namespace

const Algorithm kAllGatherBruck{
    .kind = CollectiveKind::kAllGather,
    .name = "bruck",
    .idea = "Each rank fetches as many blocks as it has from 1, 2, 4, ... ranks ahead.",
    .cost = "ceil(log2 p) alpha + n (p-1)/p beta, one alpha more for messages that wrap",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = make_schedule,
};

}  // namespace tutti::plan
