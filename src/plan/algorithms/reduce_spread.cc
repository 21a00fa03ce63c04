// Cut the message into p chunks. Rank q adds up chunk q of everyone's input where it lies, rank by
// rank (add_up.h), and gives the sum to the root, so that all ranks have the same to do. For ranks
// that read each other's memory.
//
// One lane adds up, one a peer offers contributions. The root takes each sum in a lane of its own,
// on another channel. A sum contains what its owner took from the root before, so in place it can
// be written over it. Who is not the root has no output, hence one chunk of scratch.
//
// Cost: p alpha + 2 n (p-1)/p beta + n (p-1)/p gamma: a message is taken when it is its turn.
#include "ir/builder.h"
#include "plan/algorithms/add_up.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/ring.h"

namespace tutti::plan {
namespace {

using namespace ir;

constexpr uint32_t kSums = 1;  // channel

void write_reduce_spread(Builder& b, RingPlace at, Rank root) {
  const Rank rank{at.rank};
  for (uint32_t distance = 1; distance < at.num_ranks; ++distance) {
    const uint32_t peer = at.ahead(distance);
    b.add_lane(rank).send(input(peer), Rank{peer});
  }
  const LaneWriter lane = b.add_lane(rank);
  if (rank != root) {
    const Region sum = scratch(b.add_scratch(rank, ChunkId{at.rank}));
    const StepRef summed = add_up(lane, at, input(at.rank), sum);
    b.add_lane(rank, kSums).send(sum, root, {summed});
    return;
  }
  add_up(lane, at, input(at.rank), output(at.rank));
  for (uint32_t distance = 1; distance < at.num_ranks; ++distance) {
    const uint32_t peer = at.ahead(distance);
    b.add_lane(rank, kSums).recv(output(peer), Rank{peer});
  }
}

Result<Schedule> reduce_spread(const Collective& collective, const Options&) {
  const uint32_t p = collective.num_ranks;
  Builder b(collective, {.name = "spread", .chunks_per_block = p});
  for (uint32_t r = 0; r < p; ++r) write_reduce_spread(b, {r, p}, Rank{collective.root});
  return std::move(b).finish();
}

}  // namespace

const Algorithm kReduceSpread{
    .kind = CollectiveKind::kReduce,
    .name = "spread",
    .idea = "Everyone adds up one part of the message where it lies and gives it to the root.",
    .cost = "p alpha + 2 n (p-1)/p beta + n (p-1)/p gamma",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = reduce_spread,
};

}  // namespace tutti::plan
