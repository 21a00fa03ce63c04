// The sum of every block travels around the ring of ranks and collects their contributions: that of
// block c sets out from rank c + 1 and is complete at rank c.
//
// On its way a sum lies in one of two travel positions of each rank, used in turn: it waits until
// the sum two before it was taken by the next rank. (With one position each rank would wait for the
// next, around the whole ring.) So scratch is two chunks, however many ranks there are.
// The option `chunks` cuts every block into that many pieces, each with a ring of its own, a lane,
// a channel and two travel positions, so that one piece is on the wire while another is reduced.
//
// Cost: (p-1) alpha + n (p-1)/p (beta + gamma). Only neighbours talk.
#include "base/try.h"
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/chunking.h"
#include "plan/algorithms/ring_pieces.h"

namespace tutti::plan {

using namespace ir;

namespace {
constexpr uint32_t kTravelPositions = 2;
}  // namespace

void write_reduce_scatter_piece(Builder& b, const RingSeat& at, const RingPiece& piece) {
  const Rank rank{at.rank()};
  LaneWriter lane = b.add_lane(rank, piece.channel);
  const auto own = [&](uint32_t distance) {
    return input(at.behind(distance) * piece.count + piece.index);
  };
  lane.send(own(1), at.next());
  uint32_t travel[kTravelPositions];
  StepRef user[kTravelPositions];
  for (uint32_t distance = 2; distance < at.num_ranks(); ++distance) {
    const uint32_t i = distance % kTravelPositions;
    const bool is_fresh = distance < 2 + kTravelPositions;
    if (is_fresh) travel[i] = b.add_scratch(rank, kAnyChunk);
    user[i] = lane.recv_reduce_copy_send(own(distance), scratch(travel[i]), at.previous(),
                                         at.next(), is_fresh ? After() : After({&user[i], 1}));
  }
  lane.recv_reduce(own(0), output(piece.index), at.previous());
}

namespace {

Result<Schedule> reduce_scatter_ring(const Collective& collective, const Options& options) {
  TUTTI_ASSIGN(const uint32_t num_pieces,
               chunks_per_block(collective, options.chunks != 0 ? options.chunks : 1));
  Builder b(collective, {.name = "ring", .chunks_per_block = num_pieces});
  const uint32_t p = b.num_ranks();
  if (p == 1) b.add_lane(Rank{0}).copy(input(0, num_pieces), output(0, num_pieces));
  const std::vector<uint32_t> by_number = ring_by_number(p);
  for (uint32_t r = 0; p > 1 && r < p; ++r) {
    for (uint32_t piece = 0; piece < num_pieces; ++piece) {
      write_reduce_scatter_piece(b, {by_number, r}, {piece, num_pieces, piece});
    }
  }
  return std::move(b).finish();
}

}  // namespace

const Algorithm kReduceScatterRing{
    .kind = CollectiveKind::kReduceScatter,
    .name = "ring",
    .idea = "The sum of every block travels around the ring and ends at its owner.",
    .cost = "(p-1) alpha + n (p-1)/p (beta + gamma)",
    .takes_chunks = true,
    .takes_radix = false,
    .takes_group_size = false,
    .make = reduce_scatter_ring,
};

}  // namespace tutti::plan
