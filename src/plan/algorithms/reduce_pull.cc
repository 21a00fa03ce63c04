// For ranks that read each other's memory: the root adds everyone's contribution to its own one by
// one, where they lie (add_up.h). The option `chunks` cuts the message into that many pieces, which
// are summed one after the other: a piece that fits the cache is not read again from memory for
// each rank.
//
// Cost: (p-1) (alpha + n beta + n gamma): a message is taken when it is its turn. For one host and
// few ranks.
#include "base/try.h"
#include "ir/builder.h"
#include "plan/algorithms/add_up.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/chunking.h"
#include "plan/algorithms/ring.h"

namespace tutti::plan {
namespace {

using namespace ir;

Result<Schedule> reduce_pull(const Collective& collective, const Options& options) {
  const Rank root{collective.root};
  TUTTI_ASSIGN(const uint32_t num_pieces,
               chunks_per_block(collective, options.chunks != 0 ? options.chunks : 1));
  Builder b(collective, {.name = "pull", .chunks_per_block = num_pieces});
  for (uint32_t r = 0; r < b.num_ranks(); ++r) {
    LaneWriter lane = b.add_lane(Rank{r});
    for (uint32_t piece = 0; piece < num_pieces; ++piece) {
      if (Rank{r} == root) {
        add_up(lane, {r, b.num_ranks()}, input(piece), output(piece));
      } else {
        lane.send(input(piece), root);
      }
    }
  }
  return std::move(b).finish();
}

}  // namespace

const Algorithm kReducePull{
    .kind = CollectiveKind::kReduce,
    .name = "pull",
    .idea = "The root adds everyone's contribution to its own, rank by rank.",
    .cost = "(p-1) (alpha + n beta + n gamma)",
    .takes_chunks = true,
    .takes_radix = false,
    .takes_group_size = false,
    .make = reduce_pull,
};

}  // namespace tutti::plan
