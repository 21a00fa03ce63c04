// Half of the message is reduced up one binary tree and comes back down it as the result; half does
// so in a second tree, in which the forwarders of the first are leaves (double_tree.h). So every
// rank takes and gives about 2n, as on a ring, but in log2 p steps.
//
// Each half flows in k pieces (the option `chunks`). Up: a rank adds its children's sums to its own
// contribution, in output, and passes the sum to its parent in the step that takes the last
// child's. Down: the result is written over the sum, which by then was taken. The two directions
// have lanes of their own: in one lane, a piece on its way up could wait behind one on its way
// down, and the other way round. With two children each is served in its own lane, so that a slow
// one does not hold up the other. Trees have a channel each, since two ranks may be neighbours in
// both.
//
// Cost: about (1.5 floor(log2 p) + k) (2 alpha + n/k (2 beta + gamma)): for each piece a rank takes
// from two children, one after the other, and two results come down to it.
#include "ir/builder.h"
#include "plan/algorithms/catalogue.h"
#include "plan/algorithms/double_tree.h"

namespace tutti::plan {
namespace {

using namespace ir;

// As for broadcast's trees: the best k for 16 ranks and a message of 16 alpha.
constexpr uint32_t kDefaultPieces = 8;

// A rank's place in the tree that carries the pieces [first, end).
struct Place {
  uint32_t channel;
  uint32_t first;
  uint32_t end;
  Rank rank;
  Rank parent;  // kNoRank at the root
  std::vector<Rank> children;

  bool is_root() const { return parent == kNoRank; }
};

// Returns the steps after which output holds the rank's sums, piece by piece.
std::vector<StepRef> reduce_up(Builder& b, const Place& at) {
  LaneWriter lane = b.add_lane(at.rank, at.channel);
  std::vector<StepRef> done;
  for (uint32_t piece = at.first; piece < at.end; ++piece) {
    if (at.children.empty()) done.push_back(lane.send(input(piece), at.parent));
    Region sum = input(piece);
    for (const Rank child : at.children) {
      const bool is_last = child == at.children.back() && !at.is_root();
      const StepRef step = is_last
                               ? lane.recv_reduce_copy_send(sum, output(piece), child, at.parent)
                               : lane.recv_reduce(sum, output(piece), child);
      if (child == at.children.back()) done.push_back(step);
      sum = output(piece);
    }
  }
  return done;
}

// The results on their way down to each child; arrivals[i] is the step that brought piece i.
void serve_children(Builder& b, const Place& at, std::span<const StepRef> arrivals) {
  for (const Rank child : at.children) {
    LaneWriter lane = b.add_lane(at.rank, at.channel);
    for (uint32_t piece = at.first; piece < at.end; ++piece) {
      lane.send(output(piece), child, {arrivals[piece - at.first]});
    }
  }
}

void pass_down(Builder& b, const Place& at) {
  LaneWriter lane = b.add_lane(at.rank, at.channel);
  std::vector<StepRef> arrivals;
  for (uint32_t piece = at.first; piece < at.end; ++piece) {
    arrivals.push_back(at.children.size() == 1
                           ? lane.recv_copy_send(output(piece), at.parent, at.children.front())
                           : lane.recv(output(piece), at.parent));
  }
  if (at.children.size() > 1) serve_children(b, at, arrivals);
}

Result<Schedule> all_reduce_double_tree(const Collective& collective, const Options& options) {
  const uint32_t num_pieces = options.chunks != 0 ? options.chunks : kDefaultPieces;
  Builder b(collective, {.name = "double_tree", .chunks_per_block = 2 * num_pieces});
  const uint32_t p = b.num_ranks();
  if (p == 1) b.add_lane(Rank{0}).copy(input(0, 2 * num_pieces), output(0, 2 * num_pieces));
  const DoubleTree both = double_tree(p);
  for (uint32_t t = 0; p > 1 && t < 2; ++t) {
    for (uint32_t r = 0; r < p; ++r) {
      const TreeNode& node = both.trees[t].nodes[r];
      Place at{t, t * num_pieces, (t + 1) * num_pieces, Rank{r}, Rank{node.parent}, {}};
      for (const uint32_t child : node.children) at.children.push_back(Rank{child});
      const std::vector<StepRef> sums = reduce_up(b, at);
      at.is_root() ? serve_children(b, at, sums) : pass_down(b, at);
    }
  }
  return std::move(b).finish();
}
static_assert(Rank{kNoNode} == kNoRank, "no parent is no rank");

}  // namespace

const Algorithm kAllReduceDoubleTree{
    .kind = CollectiveKind::kAllReduce,
    .name = "double_tree",
    .idea =
        "Each half of the message goes up and down its own binary tree, in pieces; who "
        "forwards in one tree is a leaf of the other.",
    .cost =
        "about (1.5 floor(log2 p) + k) (2 alpha + n/k (2 beta + gamma)), k = chunks, pieces a tree "
        "(8)",
    .takes_chunks = true,
    .takes_radix = false,
    .takes_group_size = false,
    .make = all_reduce_double_tree,
};

}  // namespace tutti::plan
