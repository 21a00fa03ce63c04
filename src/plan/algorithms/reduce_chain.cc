// The message, cut into k pieces (the option `chunks`), flows through all ranks towards the root,
// and every rank adds its own: it forwards the sum of piece i while it receives piece i + 1.
//
// The chain ends at the root; the others stand behind it in the order of rank numbers, around. A
// rank in between holds a sum in scratch until the next rank took it. Two positions, used in turn,
// are enough to keep the chain flowing, whatever k is: piece i waits until piece i - 2 was taken.
//
// Cost: (p - 2 + k) (alpha + n/k beta + n/k gamma). 8 pieces by default, as broadcast's chain has.
#include <algorithm>
#include <span>

#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"

namespace tutti::plan {
namespace {

using namespace ir;

constexpr uint32_t kDefaultPieces = 8;
constexpr uint32_t kSumsInScratch = 2;

// Adds the rank's own to each piece on its way from `behind` to `ahead`.
void add_and_pass(Builder& b, LaneWriter& lane, Rank behind, Rank ahead) {
  const uint32_t num_pieces = b.layout().chunks_per_block();
  const uint32_t num_sums = std::min(kSumsInScratch, num_pieces);
  for (uint32_t i = 0; i < num_sums; ++i) b.add_scratch(lane.rank(), kAnyChunk);
  StepRef users[kSumsInScratch];
  for (uint32_t piece = 0; piece < num_pieces; ++piece) {
    const uint32_t sum = piece % num_sums;
    const After freed = piece < num_sums ? After() : After(std::span(&users[sum], 1));
    users[sum] = lane.recv_reduce_copy_send(input(piece), scratch(sum), behind, ahead, freed);
  }
}

Result<Schedule> reduce_chain(const Collective& collective, const Options& options) {
  const uint32_t num_pieces = options.chunks != 0 ? options.chunks : kDefaultPieces;
  Builder b(collective, {.name = "chain", .chunks_per_block = num_pieces});
  const uint32_t p = b.num_ranks();
  const Rank root{collective.root};
  if (p == 1) b.add_lane(root).copy(input(0, num_pieces), output(0, num_pieces));
  for (uint32_t place = 0; p > 1 && place < p; ++place) {
    const Rank rank{(root.value + place) % p};
    const Rank ahead{(rank.value + p - 1) % p};
    const Rank behind{(rank.value + 1) % p};
    LaneWriter lane = b.add_lane(rank);
    if (0 < place && place < p - 1) {
      add_and_pass(b, lane, behind, ahead);
      continue;
    }
    for (uint32_t piece = 0; piece < num_pieces; ++piece) {
      if (place == 0) {
        lane.recv_reduce(input(piece), output(piece), behind);
      } else {
        lane.send(input(piece), ahead);
      }
    }
  }
  return std::move(b).finish();
}

}  // namespace

const Algorithm kReduceChain{
    .kind = CollectiveKind::kReduce,
    .name = "chain",
    .idea = "Pieces flow through all ranks to the root, and every rank adds its own on the way.",
    .cost = "(p - 2 + k) (alpha + n/k beta + n/k gamma), k = chunks (8)",
    .takes_chunks = true,
    .takes_radix = false,
    .takes_group_size = false,
    .make = reduce_chain,
};

}  // namespace tutti::plan
