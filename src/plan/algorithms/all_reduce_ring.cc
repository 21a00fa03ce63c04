// Cut the message into p chunks. The sum of chunk c sets out from rank c, travels around the ring
// of ranks and is complete at rank c - 1; from there the result travels on, around once more.
//
// Each rank sends chunk r first. What then comes in is r-1, r-2, ... to be added to and passed on;
// the last of these sums, r+1, is complete and is passed on as a result; then results r, r-1, ...
// follow, to be kept and passed on. Sums lie in output where their result will lie: it comes only
// after the sum went all the way round, hence after the next rank took it. No scratch.
// The option `chunks` cuts each of the p chunks into that many pieces, each with a ring of its own
// (a lane and a channel), so that one piece is on the wire while another is reduced.
//
// Cost: 2(p-1) (alpha + n/p beta) + (p-1) n/p gamma. Only neighbours talk.
#include "base/try.h"
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/chunking.h"
#include "plan/algorithms/ring_pieces.h"

namespace tutti::plan {

using namespace ir;

void write_all_reduce_piece(Builder& b, const RingSeat& at, const RingPiece& piece) {
  LaneWriter lane = b.add_lane(Rank{at.rank()}, piece.channel);
  const auto index = [&](uint32_t chunk) { return chunk * piece.count + piece.index; };
  lane.send(input(index(at.rank())), at.next());
  for (uint32_t distance = 1; distance < at.num_ranks(); ++distance) {
    const uint32_t sum = index(at.behind(distance));
    lane.recv_reduce_copy_send(input(sum), output(sum), at.previous(), at.next());
  }
  for (uint32_t distance = 0; distance + 2 < at.num_ranks(); ++distance) {
    lane.recv_copy_send(output(index(at.behind(distance))), at.previous(), at.next());
  }
  lane.recv(output(index(at.ahead(2))), at.previous());
}

namespace {

Result<Schedule> all_reduce_ring(const Collective& collective, const Options& options) {
  const uint32_t p = collective.num_ranks;
  const uint32_t num_pieces = options.chunks != 0 ? options.chunks : 1;
  TUTTI_ASSIGN(const uint32_t num_chunks, chunks_per_block(collective, uint64_t{p} * num_pieces));
  Builder b(collective, {.name = "ring", .chunks_per_block = num_chunks});
  if (p == 1) b.add_lane(Rank{0}).copy(input(0, num_chunks), output(0, num_chunks));
  const std::vector<uint32_t> by_number = ring_by_number(p);
  for (uint32_t r = 0; p > 1 && r < p; ++r) {
    for (uint32_t piece = 0; piece < num_pieces; ++piece) {
      write_all_reduce_piece(b, {by_number, r}, {piece, num_pieces, piece});
    }
  }
  return std::move(b).finish();
}

}  // namespace

const Algorithm kAllReduceRing{
    .kind = CollectiveKind::kAllReduce,
    .name = "ring",
    .idea = "The sums of p chunks travel around the ring of ranks, then the results do.",
    .cost = "2(p-1) (alpha + n/p beta) + (p-1) n/p gamma",
    .takes_chunks = true,
    .takes_radix = false,
    .takes_group_size = false,
    .make = all_reduce_ring,
};

}  // namespace tutti::plan
