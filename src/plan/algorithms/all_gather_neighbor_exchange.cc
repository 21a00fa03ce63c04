// Neighbours on the ring trade blocks in both directions, so all is known after half as many rounds
// as on a ring that flows one way.
//
// Even p: the ranks 2m and 2m+1 exchange their blocks, which makes pair m. From then on a rank
// turns in every round from one neighbour to the other and gives it the pair that it got from the
// first in the round before. Pairs so come in from both sides in turn, the nearest first; p/2
// rounds.
//
// Odd p: somebody would have nobody to turn to. Instead single blocks flow both ways at once, each
// way in a lane of its own: what comes from behind goes ahead and what comes from ahead goes
// behind, and after (p-1)/2 rounds of two messages everyone has everything.
//
// Cost: floor(p/2) alpha + n (p-1)/p beta. Only neighbours talk.
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/ring.h"

namespace tutti::plan {
namespace {

using namespace ir;

void write_even(Builder& b, RingPlace at) {
  const uint32_t num_pairs = at.num_ranks / 2;
  const uint32_t own_pair = at.rank / 2;
  const bool is_even = at.rank % 2 == 0;
  const Rank mate = is_even ? at.next() : at.previous();
  const Rank outside = is_even ? at.previous() : at.next();
  LaneWriter lane = b.add_lane(Rank{at.rank});
  lane.send(input(0), mate);
  lane.copy(input(0), output(at.rank));
  lane.recv(output(mate.value), mate);
  if (num_pairs == 1) return;
  lane.send(output(2 * own_pair, 2), outside);
  for (uint32_t round = 1; round < num_pairs; ++round) {
    const bool is_outside = round % 2 == 1;
    const uint32_t distance = (round + 1) / 2;
    const bool is_behind = is_outside == is_even;
    const uint32_t pair = (own_pair + (is_behind ? num_pairs - distance : distance)) % num_pairs;
    const Rank from = is_outside ? outside : mate;
    const Rank to = is_outside ? mate : outside;
    if (round + 1 < num_pairs) {
      lane.recv_copy_send(output(2 * pair, 2), from, to);
    } else {
      lane.recv(output(2 * pair, 2), from);
    }
  }
}

void write_odd(Builder& b, RingPlace at) {
  const uint32_t num_rounds = (at.num_ranks - 1) / 2;
  for (const bool goes_ahead : {true, false}) {
    const Rank from = goes_ahead ? at.previous() : at.next();
    const Rank to = goes_ahead ? at.next() : at.previous();
    LaneWriter lane = b.add_lane(Rank{at.rank});
    lane.send(input(0), to);
    for (uint32_t round = 1; round <= num_rounds; ++round) {
      const Region block = output(goes_ahead ? at.behind(round) : at.ahead(round));
      if (round < num_rounds) {
        lane.recv_copy_send(block, from, to);
      } else {
        lane.recv(block, from);
      }
    }
  }
  b.add_lane(Rank{at.rank}).copy(input(0), output(at.rank));
}

Result<Schedule> all_gather_neighbor_exchange(const Collective& collective, const Options&) {
  Builder b(collective, {.name = "neighbor_exchange"});
  const uint32_t p = b.num_ranks();
  if (p == 1) b.add_lane(Rank{0}).copy(input(0), output(0));
  for (uint32_t r = 0; p > 1 && r < p; ++r) {
    p % 2 == 0 ? write_even(b, {r, p}) : write_odd(b, {r, p});
  }
  return std::move(b).finish();
}

}  // namespace

const Algorithm kAllGatherNeighborExchange{
    .kind = CollectiveKind::kAllGather,
    .name = "neighbor_exchange",
    .idea = "Neighbours on the ring trade two blocks a round, so half a ring's rounds are enough.",
    .cost = "floor(p/2) alpha + n (p-1)/p beta",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = all_gather_neighbor_exchange,
};

}  // namespace tutti::plan
