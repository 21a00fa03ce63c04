// For ranks that read each other's memory: the owner of a block adds the others' contributions to
// the result one by one, where they lie (add_up.h). The option `chunks` cuts every block into that
// many pieces, which are summed one after the other: a piece that fits the cache is not read again
// from memory for each rank.
//
// Cost: (p-1) (alpha + n/p beta + n/p gamma): a message is taken when it is its turn. For one host,
// where alpha is next to nothing.
#include "base/try.h"
#include "ir/builder.h"
#include "plan/algorithms/add_up.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/chunking.h"
#include "plan/algorithms/ring.h"

namespace tutti::plan {
namespace {

using namespace ir;

void write_reduce_scatter_pull(Builder& b, RingPlace at, uint32_t num_pieces) {
  for (uint32_t distance = 1; distance < at.num_ranks; ++distance) {
    const uint32_t peer = at.ahead(distance);
    LaneWriter offers = b.add_lane(Rank{at.rank});
    for (uint32_t piece = 0; piece < num_pieces; ++piece) {
      offers.send(input(peer * num_pieces + piece), Rank{peer});
    }
  }
  LaneWriter lane = b.add_lane(Rank{at.rank});
  for (uint32_t piece = 0; piece < num_pieces; ++piece) {
    add_up(lane, at, input(at.rank * num_pieces + piece), output(piece));
  }
}

Result<Schedule> reduce_scatter_pull(const Collective& collective, const Options& options) {
  TUTTI_ASSIGN(const uint32_t num_pieces,
               chunks_per_block(collective, options.chunks != 0 ? options.chunks : 1));
  Builder b(collective, {.name = "pull", .chunks_per_block = num_pieces});
  for (uint32_t r = 0; r < b.num_ranks(); ++r)
    write_reduce_scatter_pull(b, {r, b.num_ranks()}, num_pieces);
  return std::move(b).finish();
}

}  // namespace

const Algorithm kReduceScatterPull{
    .kind = CollectiveKind::kReduceScatter,
    .name = "pull",
    .idea = "Owners add up their block where it lies, rank by rank.",
    .cost = "(p-1) (alpha + n/p beta + n/p gamma)",
    .takes_chunks = true,
    .takes_radix = false,
    .takes_group_size = false,
    .make = reduce_scatter_pull,
};

}  // namespace tutti::plan
