// Half of the message goes down one binary tree, half down another, and who forwards in one tree is
// a leaf of the other (double_tree.h): so every rank receives n and sends at most n.
//
// The trees span all ranks but the root, which feeds the heads of both. Each half flows in k pieces
// (the option `chunks`). A rank with two children serves each in a lane of its own, so that a slow
// child holds up neither its sibling nor what comes in; with one child it forwards in one step.
// Trees have a channel each, since the same two ranks may be neighbours in both.
//
// Cost: at most (ceil(log2 p) - 1 + k) (alpha + n/k beta): the chain's, with log2 p in place of p.
// The best k is sqrt(log2(p/2) n beta / alpha); the 8 we cut by default are that for 16 ranks and a
// message that takes twenty times alpha.
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/double_tree.h"

namespace tutti::plan {
namespace {

using namespace ir;

constexpr uint32_t kDefaultPieces = 8;

// The tree that carries the pieces [first, end): its number is its channel.
struct Half {
  uint32_t channel;
  uint32_t first;
  uint32_t end;
};

void feed_head(Builder& b, Half half, Rank root, Rank head) {
  LaneWriter lane = b.add_lane(root, half.channel);
  for (uint32_t piece = half.first; piece < half.end; ++piece) lane.send(input(piece), head);
}

void write_node(Builder& b, Half half, Rank rank, Rank parent, std::span<const Rank> children) {
  LaneWriter in = b.add_lane(rank, half.channel);
  std::vector<StepRef> arrivals;
  for (uint32_t piece = half.first; piece < half.end; ++piece) {
    arrivals.push_back(children.size() == 1
                           ? in.recv_copy_send(output(piece), parent, children.front())
                           : in.recv(output(piece), parent));
  }
  if (children.size() < 2) return;
  for (const Rank child : children) {
    LaneWriter out = b.add_lane(rank, half.channel);
    for (uint32_t piece = half.first; piece < half.end; ++piece) {
      out.send(output(piece), child, {arrivals[piece - half.first]});
    }
  }
}

Result<Schedule> broadcast_double_tree(const Collective& collective, const Options& options) {
  const uint32_t num_pieces = options.chunks != 0 ? options.chunks : kDefaultPieces;
  Builder b(collective, {.name = "double_tree", .chunks_per_block = 2 * num_pieces});
  const uint32_t p = b.num_ranks();
  const Rank root{collective.root};
  const auto rank_of = [&](uint32_t node) { return Rank{(root.value + 1 + node) % p}; };
  b.add_lane(root).copy(input(0, 2 * num_pieces), output(0, 2 * num_pieces));
  const DoubleTree both = double_tree(p - 1);
  for (uint32_t t = 0; p > 1 && t < 2; ++t) {
    const BinaryTree& tree = both.trees[t];
    const Half half{.channel = t, .first = t * num_pieces, .end = (t + 1) * num_pieces};
    feed_head(b, half, root, rank_of(tree.root));
    for (uint32_t n = 0; n < p - 1; ++n) {
      const TreeNode& node = tree.nodes[n];
      std::vector<Rank> children;
      for (const uint32_t child : node.children) children.push_back(rank_of(child));
      write_node(b, half, rank_of(n), node.parent == kNoNode ? root : rank_of(node.parent),
                 children);
    }
  }
  return std::move(b).finish();
}

}  // namespace

const Algorithm kBroadcastDoubleTree{
    .kind = CollectiveKind::kBroadcast,
    .name = "double_tree",
    .idea =
        "Each half of the message flows in pieces down its own binary tree; who forwards in "
        "one is a leaf of the other.",
    .cost = "at most (ceil(log2 p) - 1 + k) (alpha + n/k beta), k = chunks, pieces a tree (8)",
    .takes_chunks = true,
    .takes_radix = false,
    .takes_group_size = false,
    .make = broadcast_double_tree,
};

}  // namespace tutti::plan
