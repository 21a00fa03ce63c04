// The message, cut into k pieces (the option `chunks`), flows through all ranks like water through
// a row of buckets: a rank forwards piece i while it receives piece i + 1.
//
// The chain starts at the root and follows the rank numbers around. Each link of it carries every
// piece once and in order, so one lane a rank is enough.
//
// Cost: (p - 2 + k) (alpha + n/k beta). The best k is sqrt((p - 2) n beta / alpha). The 8 pieces we
// cut by default are that for 8 ranks and a message that takes ten times alpha; below it the
// binomial tree is the better choice, above it more pieces are.
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"

namespace tutti::plan {
namespace {

using namespace ir;

constexpr uint32_t kDefaultPieces = 8;

Result<Schedule> broadcast_chain(const Collective& collective, const Options& options) {
  const uint32_t num_pieces = options.chunks != 0 ? options.chunks : kDefaultPieces;
  Builder b(collective, {.name = "chain", .chunks_per_block = num_pieces});
  const uint32_t p = b.num_ranks();
  const Rank root{collective.root};
  b.add_lane(root).copy(input(0, num_pieces), output(0, num_pieces));
  for (uint32_t place = 0; p > 1 && place < p; ++place) {
    const Rank rank{(root.value + place) % p};
    const Rank previous{(rank.value + p - 1) % p};
    const Rank next{(rank.value + 1) % p};
    LaneWriter lane = b.add_lane(rank);
    for (uint32_t piece = 0; piece < num_pieces; ++piece) {
      if (place == 0) {
        lane.send(input(piece), next);
      } else if (place < p - 1) {
        lane.recv_copy_send(output(piece), previous, next);
      } else {
        lane.recv(output(piece), previous);
      }
    }
  }
  return std::move(b).finish();
}

}  // namespace

const Algorithm kBroadcastChain{
    .kind = CollectiveKind::kBroadcast,
    .name = "chain",
    .idea = "Pieces flow down a chain of all ranks: one is forwarded while the next comes in.",
    .cost = "(p - 2 + k) (alpha + n/k beta), k = chunks (8)",
    .takes_chunks = true,
    .takes_radix = false,
    .takes_group_size = false,
    .make = broadcast_chain,
};

}  // namespace tutti::plan
