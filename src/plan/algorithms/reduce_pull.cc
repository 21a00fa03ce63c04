// For ranks that read each other's memory: the root adds everyone's contribution to its own one by
// one, where they lie, on around the ring of ranks.
//
// Cost: (p-1) (alpha + n beta + n gamma): a message is taken when it is its turn. For one host and
// few ranks.
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/own_first.h"
#include "plan/algorithms/ring.h"

namespace tutti::plan {
namespace {

using namespace ir;

Result<Schedule> make_schedule(const Collective& collective, const Options&) {
  const Rank root{collective.root};
  Builder b(collective, {.name = "pull"});
  const RingPlace at{root.value, b.num_ranks()};
  OwnFirst sum(input(0), output(0));
  for (uint32_t distance = 1; distance < b.num_ranks(); ++distance) {
    const Rank peer{at.ahead(distance)};
    b.add_lane(peer).send(input(0), root);
    sum.add(b.add_lane(root), peer);
  }
  if (b.num_ranks() == 1) sum.finish(b.add_lane(root));
  return std::move(b).finish();
}

}  // namespace

const Algorithm kReducePull{
    .kind = CollectiveKind::kReduce,
    .name = "pull",
    .idea = "The root adds everyone's contribution to its own, rank by rank.",
    .cost = "(p-1) (alpha + n beta + n gamma)",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = make_schedule,
};

}  // namespace tutti::plan
