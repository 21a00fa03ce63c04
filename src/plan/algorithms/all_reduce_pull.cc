// The two shots of all_reduce_two_shot.cc for ranks that read each other's memory: the owner of a
// chunk adds the others' contributions to the result one by one, where they lie (add_up.h). There
// is no scratch and nothing is copied first. A chunk has one owner, so all ranks get the same bits.
//
// One lane adds up; two a peer offer contributions and, on a channel of their own, exchange
// results. What a peer sends as its result contains what it took before, so it can be written over
// it. The option `chunks` cuts each of the p chunks into that many pieces, which are summed one
// after the other: a piece that fits the cache is not read again from memory for each rank.
//
// Cost: p alpha + 2 n (p-1)/p beta + n (p-1)/p gamma: a message is taken when it is its turn. For
// one host, where alpha is next to nothing.
#include "base/try.h"
#include "ir/builder.h"
#include "plan/algorithms/add_up.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/chunking.h"
#include "plan/algorithms/ring.h"

namespace tutti::plan {
namespace {

using namespace ir;

constexpr uint32_t kResults = 1;  // channel

void write_all_reduce_pull(Builder& b, RingPlace at, uint32_t num_pieces) {
  const Rank rank{at.rank};
  const auto index = [&](uint32_t owner, uint32_t piece) { return owner * num_pieces + piece; };
  for (uint32_t distance = 1; distance < at.num_ranks; ++distance) {
    const uint32_t peer = at.ahead(distance);
    LaneWriter offers = b.add_lane(rank);
    for (uint32_t piece = 0; piece < num_pieces; ++piece) {
      offers.send(input(index(peer, piece)), Rank{peer});
    }
  }
  LaneWriter sums = b.add_lane(rank);
  std::vector<StepRef> summed;
  for (uint32_t piece = 0; piece < num_pieces; ++piece) {
    const uint32_t own = index(at.rank, piece);
    summed.push_back(add_up(sums, at, input(own), output(own)));
  }
  for (uint32_t distance = 1; distance < at.num_ranks; ++distance) {
    const uint32_t peer = at.ahead(distance);
    LaneWriter results = b.add_lane(rank, kResults);
    for (uint32_t piece = 0; piece < num_pieces; ++piece) {
      results.send(output(index(at.rank, piece)), Rank{peer}, {summed[piece]});
      results.recv(output(index(peer, piece)), Rank{peer});
    }
  }
}

Result<Schedule> all_reduce_pull(const Collective& collective, const Options& options) {
  const uint32_t p = collective.num_ranks;
  const uint32_t num_pieces = options.chunks != 0 ? options.chunks : 1;
  TUTTI_ASSIGN(const uint32_t num_chunks, chunks_per_block(collective, uint64_t{p} * num_pieces));
  Builder b(collective, {.name = "pull", .chunks_per_block = num_chunks});
  for (uint32_t r = 0; r < p; ++r) write_all_reduce_pull(b, {r, p}, num_pieces);
  return std::move(b).finish();
}

}  // namespace

const Algorithm kAllReducePull{
    .kind = CollectiveKind::kAllReduce,
    .name = "pull",
    .idea =
        "Owners add up their chunk where it lies, rank by rank; then everyone takes every result.",
    .cost = "p alpha + 2 n (p-1)/p beta + n (p-1)/p gamma",
    .takes_chunks = true,
    .takes_radix = false,
    .takes_group_size = false,
    .make = all_reduce_pull,
};

}  // namespace tutti::plan
