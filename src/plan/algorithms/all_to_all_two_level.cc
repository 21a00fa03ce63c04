// Exchange across the nodes in messages of a whole node's blocks, then inside each node: N + g
// messages a rank instead of p. `group_size` (g) consecutive ranks share a node; there are N nodes.
//
// 1. Across: a rank sends all its blocks for a node, which are consecutive in input, to one rank of
//    that node, the `gateway`: the one with its own number inside the node. A last node with fewer
//    ranks deals the numbers out in turn.
// 2. Inside: a rank now has, from each rank it is gateway for (its `sources`, itself among them),
//    one block for everyone in its node. It packs those for each neighbour and sends them as one
//    message; what it gets is copied to output, since sources are g apart there.
//
// Cost: (N-1 + g-1) alpha + n (N-1)/N beta across + n (g-1)/g beta inside, and 2n of copies.
// Scratch is about 3n. The ranks of a small last node take more messages: up to g from every node.
#include "base/try.h"
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/nodes.h"
#include "plan/algorithms/pack.h"
#include "plan/algorithms/ring.h"

namespace tutti::plan {
namespace {

using namespace ir;

class AllToAllTwoLevelWriter {
 public:
  AllToAllTwoLevelWriter(Builder& b, const Nodes& nodes, Rank rank)
      : b_(b),
        nodes_(nodes),
        lane_(b.add_lane(rank)),
        node_(nodes.node_of(rank)),
        local_(nodes.local_of(rank)),
        size_(nodes.size(node_)) {}

  void write() {
    exchange_across();
    send_inside();
    take_inside();
    settle();
  }

 private:
  // Blocks that came from one source for this node: one a rank of the node, in their order.
  struct Held {
    Rank source;
    Region blocks;
  };

  ChunkId block(Rank source, Rank target) const {
    return ChunkId{source.value * b_.num_ranks() + target.value};
  }
  Rank gateway(uint32_t node, uint32_t local) const {
    return nodes_.rank(node, local % nodes_.size(node));
  }
  // The ranks of another node whose gateway to this node is its rank `local`.
  std::vector<Rank> sources_in(uint32_t other_node, uint32_t local) const {
    std::vector<Rank> sources;
    for (uint32_t l = local; l < nodes_.size(other_node); l += size_) {
      sources.push_back(nodes_.rank(other_node, l));
    }
    return sources;
  }
  // All that a rank of this node is gateway for, itself first.
  std::vector<Rank> sources_of(uint32_t local) const {
    std::vector<Rank> sources{nodes_.rank(node_, local)};
    for (uint32_t distance = 1; distance < nodes_.num_nodes(); ++distance) {
      const auto others = sources_in(node_at(distance), local);
      sources.insert(sources.end(), others.begin(), others.end());
    }
    return sources;
  }
  // The node `distance` behind this one.
  uint32_t node_at(uint32_t distance) const {
    return RingPlace{node_, nodes_.num_nodes()}.behind(distance);
  }

  void exchange_across() {
    held_.push_back({lane_.rank(), input(nodes_.first(node_), size_)});
    for (uint32_t distance = 1; distance < nodes_.num_nodes(); ++distance) {
      const uint32_t to = RingPlace{node_, nodes_.num_nodes()}.ahead(distance);
      lane_.send(input(nodes_.first(to), nodes_.size(to)), gateway(to, local_));
      for (const Rank source : sources_in(node_at(distance), local_)) {
        std::vector<PlacedChunk> blocks;
        for (uint32_t l = 0; l < size_; ++l) {
          blocks.push_back({{}, block(source, nodes_.rank(node_, l))});
        }
        held_.push_back({source, add_scratch_for(b_, lane_.rank(), blocks)});
        lane_.recv(held_.back().blocks, source);
      }
    }
  }

  // Where the block for a rank of this node lies.
  static Region block_for(const Held& held, uint32_t local) {
    return {held.blocks.buffer, held.blocks.index + local, 1};
  }

  void send_inside() {
    for (uint32_t distance = 1; distance < size_; ++distance) {
      const uint32_t to = RingPlace{local_, size_}.ahead(distance);
      std::vector<PlacedChunk> blocks;
      for (const Held& held : held_) {
        blocks.push_back({block_for(held, to), block(held.source, nodes_.rank(node_, to))});
      }
      lane_.send(pack(b_, lane_, blocks), nodes_.rank(node_, to));
    }
  }

  void take_inside() {
    for (uint32_t distance = 1; distance < size_; ++distance) {
      const uint32_t from = RingPlace{local_, size_}.behind(distance);
      const std::vector<Rank> sources = sources_of(from);
      if (sources.size() == 1) {
        lane_.recv(output(sources.front().value), nodes_.rank(node_, from));
        continue;
      }
      std::vector<PlacedChunk> blocks;
      for (const Rank source : sources) blocks.push_back({{}, block(source, lane_.rank())});
      const Region arrived = add_scratch_for(b_, lane_.rank(), blocks);
      lane_.recv(arrived, nodes_.rank(node_, from));
      for (uint32_t i = 0; i < arrived.count; ++i) {
        lane_.copy(scratch(arrived.index + i), output(sources[i].value));
      }
    }
  }

  // The blocks that this rank was gateway for itself.
  void settle() {
    for (const Held& held : held_) {
      lane_.copy(block_for(held, local_), output(held.source.value));
    }
  }

  Builder& b_;
  const Nodes& nodes_;
  LaneWriter lane_;
  uint32_t node_;
  uint32_t local_;
  uint32_t size_;  // of the node
  std::vector<Held> held_;
};

Result<Schedule> all_to_all_two_level(const Collective& collective, const Options& options) {
  TUTTI_ASSIGN(const Nodes nodes, Nodes::create(collective.num_ranks, options.group_size));
  Builder b(collective, {.name = "two_level", .placement = Placement::kOutOfPlace});
  for (uint32_t r = 0; r < b.num_ranks(); ++r) AllToAllTwoLevelWriter(b, nodes, Rank{r}).write();
  return std::move(b).finish();
}

}  // namespace

const Algorithm kAllToAllTwoLevel{
    .kind = CollectiveKind::kAllToAll,
    .name = "two_level",
    .idea = "Exchange across nodes in messages of a node's blocks, then inside each node.",
    .cost =
        "(N-1 + g-1) alpha + n (N-1)/N beta across + n (g-1)/g beta inside, N nodes of "
        "g = group_size ranks (8)",
    .takes_chunks = false,
    .takes_radix = false,
    .takes_group_size = true,
    .make = all_to_all_two_level,
};

}  // namespace tutti::plan
