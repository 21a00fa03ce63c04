// Cut the message into p chunks, reduce-scatter them by recursive halving, so that rank r has the
// whole sum of chunk r, and gather the results by recursive doubling over the same splits, last one
// first: Rabenseifner's all-reduce.
//
// halving.h makes the splits for any number of ranks, so there are no ranks to fold in before and
// out after. Sums lie in output; the result of what a rank gave away comes from the rank that took
// it. No scratch.
//
// Cost: 2 ceil(log2 p) alpha + 2 n (p-1)/p beta + n (p-1)/p gamma. When p is no power of two, some
// ranks take or serve two in a round; that costs up to 4 alpha + 3/4 n (2 beta + gamma) more
// (simulated to 128 ranks).
#include "base/try.h"
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/chunking.h"
#include "plan/algorithms/halving.h"

namespace tutti::plan {
namespace {

using namespace ir;

Result<Schedule> all_reduce_rabenseifner(const Collective& collective, const Options&) {
  TUTTI_ASSIGN(const uint32_t p, chunks_per_block(collective, collective.num_ranks));
  Builder b(collective, {.name = "rabenseifner", .chunks_per_block = p});
  if (p == 1) b.add_lane(Rank{0}).copy(input(0), output(0));
  for (uint32_t r = 0; p > 1 && r < p; ++r) {
    LaneWriter lane = b.add_lane(Rank{r});
    const std::vector<Split> splits = halve(p, Rank{r});
    reduce_by_halving(lane, splits, 0, Buffer::kInput, {});
    gather_by_doubling(lane, splits, 0);
  }
  return std::move(b).finish();
}

}  // namespace

const Algorithm kAllReduceRabenseifner{
    .kind = CollectiveKind::kAllReduce,
    .name = "rabenseifner",
    .idea = "Recursive halving scatters the sums, recursive doubling gathers the results.",
    .cost =
        "2 ceil(log2 p) alpha + 2 n (p-1)/p beta + n (p-1)/p gamma, up to 4 alpha + "
        "3/4 n (2 beta + gamma) more when p is no power of 2",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = all_reduce_rabenseifner,
};

}  // namespace tutti::plan
