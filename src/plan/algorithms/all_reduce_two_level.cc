// Reduce inside the nodes, then across them, so that each byte crosses the slow network as rarely
// as it can. `group_size` (g) consecutive ranks share a node; there are N nodes.
//
// The message is g shards of N chunks, and every shard has an owner in each node.
// 1. Inside: everyone gives each shard to its owner in the node, who adds up.
// 2. Across: the owners of a shard in all nodes all-reduce it by recursive halving and doubling
//    (halving.h), a lane a shard, all shards at once.
// 3. Inside: every owner gives its shards to the others in the node.
// The i-th rank of a full node owns shard i. In a last node with fewer ranks everyone owns several
// consecutive shards. All sums lie in output; no scratch.
//
// Cost: (2(g-1) + 2 ceil(log2 N)) alpha + 2 n (g-1)/g beta inside + 2 n/g (N-1)/N beta across
// + (n (g-1)/g + n/g (N-1)/N) gamma. For 27,600 ranks in nodes of 6 that is 36 steps deep.
#include "base/try.h"
#include "ir/builder.h"
#include "ir/sizes.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/chunking.h"
#include "plan/algorithms/halving.h"
#include "plan/algorithms/nodes.h"
#include "plan/algorithms/ring.h"

namespace tutti::plan {
namespace {

using namespace ir;

class AllReduceTwoLevelWriter {
 public:
  AllReduceTwoLevelWriter(Builder& b, const Nodes& nodes) : b_(b), nodes_(nodes) {}

  void write_rank(Rank rank) {
    const uint32_t node = nodes_.node_of(rank);
    const RingPlace place{nodes_.local_of(rank), nodes_.size(node)};
    if (b_.num_ranks() == 1) {
      b_.add_lane(rank).copy(chunks_of(0, 0, Buffer::kInput), chunks_of(0, 0, Buffer::kOutput));
    } else if (place.num_ranks == 1) {
      reduce_across(rank, Buffer::kInput, {});
    } else {
      LaneWriter inside = b_.add_lane(rank);
      const StepRef reduced = reduce_inside(inside, node, place);
      gather_inside(inside, node, place, reduce_across(rank, Buffer::kOutput, {reduced}));
    }
  }

 private:
  // The shards that a rank of a node owns, as chunks of a buffer.
  Region chunks_of(uint32_t node, uint32_t local, Buffer buffer) const {
    const Range shards = owned_shards(node, local);
    const uint32_t n = nodes_.num_nodes();
    return {buffer, shards.begin * n, shards.size() * n};
  }
  Range owned_shards(uint32_t node, uint32_t local) const {
    const auto begin = [&](uint32_t l) {
      return static_cast<uint32_t>(piece_begin(nodes_.group_size(), nodes_.size(node), l));
    };
    return {begin(local), begin(local + 1)};
  }
  // The inverse of owned_shards: the last rank of the node whose shards begin at or before this.
  Rank owner(uint32_t node, uint32_t shard) const {
    const uint64_t end = (uint64_t{shard} + 1) * nodes_.size(node);
    return nodes_.rank(node, static_cast<uint32_t>((end - 1) / nodes_.group_size()));
  }

  // Returns the step after which output holds the node's sums of the own shards.
  StepRef reduce_inside(LaneWriter lane, uint32_t node, RingPlace place) const {
    for (uint32_t distance = 1; distance < place.num_ranks; ++distance) {
      const uint32_t to = place.ahead(distance);
      lane.send(chunks_of(node, to, Buffer::kInput), nodes_.rank(node, to));
    }
    StepRef last;
    for (uint32_t distance = 1; distance < place.num_ranks; ++distance) {
      last = lane.recv_reduce(
          chunks_of(node, place.rank, distance == 1 ? Buffer::kInput : Buffer::kOutput),
          chunks_of(node, place.rank, Buffer::kOutput), nodes_.rank(node, place.behind(distance)));
    }
    return last;
  }

  // Returns the last step of each shard.
  std::vector<StepRef> reduce_across(Rank rank, Buffer from, After after) {
    std::vector<StepRef> done;
    const uint32_t n = nodes_.num_nodes();
    const uint32_t node = nodes_.node_of(rank);
    if (n == 1) return done;
    const Range shards = owned_shards(node, nodes_.local_of(rank));
    for (uint32_t shard = shards.begin; shard < shards.end; ++shard) {
      LaneWriter lane = b_.add_lane(rank);
      const std::vector<Split> splits =
          halve(n, node, [&](uint32_t member) { return owner(member, shard); });
      reduce_by_halving(lane, splits, shard * n, from, after);
      done.push_back(gather_by_doubling(lane, splits, shard * n));
    }
    return done;
  }

  void gather_inside(LaneWriter lane, uint32_t node, RingPlace place,
                     std::span<const StepRef> after) const {
    for (uint32_t distance = 1; distance < place.num_ranks; ++distance) {
      lane.send(chunks_of(node, place.rank, Buffer::kOutput),
                nodes_.rank(node, place.ahead(distance)), distance == 1 ? After(after) : After());
    }
    for (uint32_t distance = 1; distance < place.num_ranks; ++distance) {
      const uint32_t from = place.behind(distance);
      lane.recv(chunks_of(node, from, Buffer::kOutput), nodes_.rank(node, from));
    }
  }

  Builder& b_;
  const Nodes& nodes_;
};

Result<Schedule> all_reduce_two_level(const Collective& collective, const Options& options) {
  TUTTI_ASSIGN(const Nodes nodes, Nodes::create(collective.num_ranks, options.group_size));
  TUTTI_ASSIGN(const uint32_t num_chunks,
               chunks_per_block(collective, uint64_t{nodes.group_size()} * nodes.num_nodes()));
  Builder b(collective, {.name = "two_level", .chunks_per_block = num_chunks});
  AllReduceTwoLevelWriter writer(b, nodes);
  for (uint32_t r = 0; r < b.num_ranks(); ++r) writer.write_rank(Rank{r});
  return std::move(b).finish();
}

}  // namespace

const Algorithm kAllReduceTwoLevel{
    .kind = CollectiveKind::kAllReduce,
    .name = "two_level",
    .idea = "Each node reduces inside, then the owners of each shard reduce across the nodes.",
    .cost =
        "(2(g-1) + 2 ceil(log2 N)) alpha + 2 n (g-1)/g beta inside + 2 n/g (N-1)/N beta across "
        "+ (n (g-1)/g + n/g (N-1)/N) gamma, N nodes of g = group_size ranks (8)",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = true,
    .make = all_reduce_two_level,
};

}  // namespace tutti::plan
