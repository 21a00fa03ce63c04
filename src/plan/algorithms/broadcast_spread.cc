// Cut the message into p chunks. Rank q takes chunk q from the root and gives it to everyone, so
// that all ranks have the same to do. For ranks that read each other's memory: whoever moves chunk
// q can read it once, from the root's input, and write it where everyone wants it.
//
// One lane takes the own chunk; one a peer exchanges chunks, on a channel of its own. The root gets
// its data back from the others instead of copying all of it alone. What a peer sends it contains
// what that peer took before, so in place it can be written over it.
//
// Cost: 2 alpha + 2 n (p-1)/p beta: a rank takes others' chunks when it can give its own.
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/ring.h"

namespace tutti::plan {
namespace {

using namespace ir;

constexpr uint32_t kSpreading = 1;  // channel

void write_broadcast_spread(Builder& b, RingPlace at, Rank root) {
  const Rank rank{at.rank};
  for (uint32_t distance = 1; rank == root && distance < at.num_ranks; ++distance) {
    const uint32_t peer = at.ahead(distance);
    b.add_lane(rank).send(input(peer), Rank{peer});
  }
  LaneWriter own = b.add_lane(rank);
  const StepRef taken =
      rank == root ? own.copy(input(at.rank), output(at.rank)) : own.recv(output(at.rank), root);
  for (uint32_t distance = 1; distance < at.num_ranks; ++distance) {
    const uint32_t peer = at.ahead(distance);
    LaneWriter exchange = b.add_lane(rank, kSpreading);
    exchange.send(output(at.rank), Rank{peer}, {taken});
    exchange.recv(output(peer), Rank{peer});
  }
}

Result<Schedule> broadcast_spread(const Collective& collective, const Options&) {
  const uint32_t p = collective.num_ranks;
  Builder b(collective, {.name = "spread", .chunks_per_block = p});
  for (uint32_t r = 0; r < p; ++r) write_broadcast_spread(b, {r, p}, Rank{collective.root});
  return std::move(b).finish();
}

}  // namespace

const Algorithm kBroadcastSpread{
    .kind = CollectiveKind::kBroadcast,
    .name = "spread",
    .idea = "Everyone takes one part of the message from the root and gives it to everyone.",
    .cost = "2 alpha + 2 n (p-1)/p beta",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = broadcast_spread,
};

}  // namespace tutti::plan
