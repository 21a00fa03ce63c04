// One message from the root to the peer; when they are the same rank, a copy. The other ranks do
// nothing.
//
// Cost: alpha + n beta.
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"

namespace tutti::plan {
namespace {

using namespace ir;

Result<Schedule> send_recv_direct(const Collective& collective, const Options&) {
  Builder b(collective, {.name = "direct", .placement = Placement::kOutOfPlace});
  const Rank root{collective.root};
  const Rank peer{collective.peer};
  if (root == peer) {
    b.add_lane(root).copy(input(0), output(0));
  } else {
    b.add_lane(root).send(input(0), peer);
    b.add_lane(peer).recv(output(0), root);
  }
  return std::move(b).finish();
}

}  // namespace

const Algorithm kSendRecvDirect{
    .kind = CollectiveKind::kSendRecv,
    .name = "direct",
    .idea = "One message from the root to the peer.",
    .cost = "alpha + n beta",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = send_recv_direct,
};

}  // namespace tutti::plan
