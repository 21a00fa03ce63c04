// In round i the members whose numbers differ in bit i exchange their sums, and both add the
// other's to their own: after log2 rounds every member has the whole sum. a + b is b + a, and both
// add the same two, so all ranks get the same bits.
//
// Members are 2^k ranks. The others, `extra` many, are the even ones of the first 2 * extra ranks:
// each gives its contribution to the odd rank beside it, which is a member, and gets the result.
// A sum that was sent must stay until it was taken, so the new one goes elsewhere: to two scratch
// positions in turn, in the last round to output. What was there was sent, and taken, before. With
// one round there is no before: the sum goes to scratch and is copied once the partner has taken.
//
// Cost: log2 p (alpha + n (beta + gamma)); when p is no power of two, with floor(log2 p) rounds and
// 2 (alpha + n beta) + n gamma more.
#include <bit>

#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"

namespace tutti::plan {
namespace {

using namespace ir;

struct Members {
  uint32_t num_rounds;
  uint32_t extra;

  explicit Members(uint32_t num_ranks)
      : num_rounds(static_cast<uint32_t>(std::bit_width(num_ranks)) - 1),
        extra(num_ranks - std::bit_floor(num_ranks)) {}

  bool is_paired(Rank rank) const { return rank.value < 2 * extra; }
  bool is_member(Rank rank) const { return !is_paired(rank) || rank.value % 2 == 1; }
  uint32_t number_of(Rank rank) const {
    return is_paired(rank) ? rank.value / 2 : rank.value - extra;
  }
  Rank rank_of(uint32_t number) const {
    return Rank{number < extra ? 2 * number + 1 : number + extra};
  }
};

// Exchanges sums until that of all members is in output; the first is in `sum`.
void exchange(Builder& b, LaneWriter lane, const Members& members, Region sum) {
  const uint32_t rounds = members.num_rounds;
  const uint32_t num_places = rounds > 2 ? 2 : 1;
  for (uint32_t i = 0; i < num_places; ++i) b.add_scratch(lane.rank(), ChunkId{0});
  StepRef first;
  StepRef before;
  for (uint32_t round = 0; round < rounds; ++round) {
    const Rank partner = members.rank_of(members.number_of(lane.rank()) ^ (1u << round));
    const StepRef sent = lane.send(sum, partner);
    if (round == 0) first = sent;
    const bool is_last = round > 0 && round + 1 == rounds;
    const Region next = is_last ? output(0) : scratch(round % 2);
    const StepRef user_of_next = is_last ? first : before;
    lane.recv_reduce(sum, next, partner,
                     is_last || round >= 2 ? After({&user_of_next, 1}) : After());
    sum = next;
    before = sent;
  }
  if (rounds == 1) lane.copy(sum, output(0), {first});
}

void write_member(Builder& b, Rank rank, const Members& members) {
  LaneWriter lane = b.add_lane(rank);
  if (!members.is_paired(rank)) return exchange(b, lane, members, input(0));
  const Rank other{rank.value - 1};
  lane.recv_reduce(input(0), output(0), other);
  exchange(b, lane, members, output(0));
  lane.send(output(0), other);
}

Result<Schedule> all_reduce_recursive_doubling(const Collective& collective, const Options&) {
  Builder b(collective, {.name = "recursive_doubling"});
  const Members members(b.num_ranks());
  if (b.num_ranks() == 1) b.add_lane(Rank{0}).copy(input(0), output(0));
  for (uint32_t r = 0; b.num_ranks() > 1 && r < b.num_ranks(); ++r) {
    if (members.is_member(Rank{r})) {
      write_member(b, Rank{r}, members);
    } else {
      LaneWriter lane = b.add_lane(Rank{r});
      lane.send(input(0), Rank{r + 1});
      lane.recv(output(0), Rank{r + 1});
    }
  }
  return std::move(b).finish();
}

}  // namespace

const Algorithm kAllReduceRecursiveDoubling{
    .kind = CollectiveKind::kAllReduce,
    .name = "recursive_doubling",
    .idea = "Partners at distance 1, 2, 4, ... exchange and add their whole sums.",
    .cost =
        "floor(log2 p) (alpha + n (beta + gamma)), and 2 (alpha + n beta) + n gamma more "
        "when p is no power of 2",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = false,
    .make = all_reduce_recursive_doubling,
};

}  // namespace tutti::plan
