// Every block travels once around the ring of ranks: a rank sends its own block to the next rank,
// then passes on what comes from the previous one, the newest first.
//
// The option `chunks` cuts every block into that many pieces, and each piece has a ring of its own
// (a lane and a channel), so that one piece is on the wire while another is taken in. A ring never
// holds more than one message a connection, hence needs no more slots for more pieces.
//
// Cost: (p-1) alpha + n (p-1)/p beta. Only neighbours talk.
#include "base/try.h"
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/chunking.h"
#include "plan/algorithms/ring_pieces.h"

namespace tutti::plan {

using namespace ir;

void write_all_gather_piece(Builder& b, const RingSeat& at, const RingPiece& piece) {
  LaneWriter lane = b.add_lane(Rank{at.rank()}, piece.channel);
  lane.send(input(piece.index), at.next());
  for (uint32_t distance = 1; distance < at.num_ranks(); ++distance) {
    const Region block = output(at.behind(distance) * piece.count + piece.index);
    if (distance + 1 < at.num_ranks()) {
      lane.recv_copy_send(block, at.previous(), at.next());
    } else {
      lane.recv(block, at.previous());
    }
  }
}

namespace {

Result<Schedule> all_gather_ring(const Collective& collective, const Options& options) {
  TUTTI_ASSIGN(const uint32_t num_pieces,
               chunks_per_block(collective, options.chunks != 0 ? options.chunks : 1));
  Builder b(collective, {.name = "ring", .chunks_per_block = num_pieces});
  const uint32_t p = b.num_ranks();
  const std::vector<uint32_t> by_number = ring_by_number(p);
  for (uint32_t r = 0; r < p; ++r) {
    for (uint32_t piece = 0; p > 1 && piece < num_pieces; ++piece) {
      write_all_gather_piece(b, {by_number, r}, {piece, num_pieces, piece});
    }
    b.add_lane(Rank{r}).copy(input(0, num_pieces), output(r * num_pieces, num_pieces));
  }
  return std::move(b).finish();
}

}  // namespace

const Algorithm kAllGatherRing{
    .kind = CollectiveKind::kAllGather,
    .name = "ring",
    .idea = "Every block travels once around the ring of ranks.",
    .cost = "(p-1) alpha + n (p-1)/p beta",
    .takes_chunks = true,
    .takes_radix = false,
    .takes_group_size = false,
    .make = all_gather_ring,
};

}  // namespace tutti::plan
