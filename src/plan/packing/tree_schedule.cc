// Every tree is a pipeline of its own, with lanes of its own, so that no tree waits for another. A
// block is cut into shares; a tree of weight w carries w of them, one behind the other in memory,
// cut into `pieces` of w chunks each.
//
// Down: a rank with one child passes a piece on in the step that takes it; one with several takes
// it in one lane and serves each child in another, so that a slow child holds up nobody.
//
// Up: each child has a lane of its own, which adds the child's sum to what the lanes before it have
// added; the last one passes the sum on. So while piece i waits for one child, piece i + 1 comes
// from another. The order of the sum is fixed. Where sums may not stand in output they stand in
// scratch, a few pieces by turns.
//
// all_reduce: up, then down, in lanes of their own: pieces on both ways share the links.
#include "plan/packing/tree_schedule.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/try.h"
#include "ir/builder.h"
#include "plan/algorithms/chunking.h"

namespace tutti::plan::packing {
namespace {

using namespace ir;

// A rank's place in one tree, with the channels of its edges. Sums may go up by other edges than
// those by which data comes down.
struct Place {
  Rank rank;
  Rank parent;  // kNoRank at the root
  std::vector<Rank> children;
  Rank up_parent;
  std::vector<Rank> up_children;
  uint32_t down = 0;  // from the parent
  uint32_t up = 0;    // to the parent above

  [[nodiscard]] bool is_root() const { return parent == kNoRank; }
};

// The chunks of one tree: piece i is `width` chunks from `first` + i * `width` of a block.
struct Share {
  uint32_t first = 0;
  uint32_t width = 0;
  uint32_t block = 0;

  [[nodiscard]] uint32_t at(uint32_t piece) const { return first + piece * width; }
};

// Gives out channels. A connection is two ranks and a channel, and belongs to one lane at each end;
// so edges that a lane joins, one that it takes a piece from and one that it passes it on to, need
// one channel that is free on all of them. The least such is taken: systems that schedules are
// exported to have few.
class Channels {
 public:
  explicit Channels(uint32_t num_ranks) : num_ranks_(num_ranks) {}

  uint32_t take(std::span<const std::pair<Rank, Rank>> edges) {
    const auto place = [&](const auto& edge) {
      return size_t{edge.first.value} * num_ranks_ + edge.second.value;
    };
    const auto is_free = [&](const std::vector<bool>& taken) {
      return std::none_of(edges.begin(), edges.end(),
                          [&](const auto& edge) { return taken[place(edge)]; });
    };
    const auto found = std::find_if(is_taken_.begin(), is_taken_.end(), is_free);
    const auto channel = static_cast<size_t>(found - is_taken_.begin());
    if (found == is_taken_.end()) is_taken_.emplace_back(size_t{num_ranks_} * num_ranks_, false);
    for (const auto& edge : edges) is_taken_[channel][place(edge)] = true;
    return static_cast<uint32_t>(channel);
  }

 private:
  uint32_t num_ranks_;
  std::vector<std::vector<bool>> is_taken_;  // by channel and edge
};

class Writer {
 public:
  Writer(Builder& builder, uint32_t pieces)
      : b_(builder),
        kind_(builder.layout().collective().kind),
        pieces_(pieces),
        channels_(builder.layout().collective().num_ranks) {}

  void write(const Tree& tree, const Share& share) {
    share_ = share;
    places_.assign(tree.parent.size(), {});
    for (uint32_t r = 0; r < tree.parent.size(); ++r) {
      const bool is_root = r == tree.root;
      places_[r].rank = Rank{r};
      places_[r].parent = is_root ? kNoRank : Rank{tree.parent[r]};
      places_[r].up_parent = is_root ? kNoRank : Rank{tree.up_parent(r)};
      if (is_root) continue;
      place(places_[r].parent).children.push_back(Rank{r});
      place(places_[r].up_parent).up_children.push_back(Rank{r});
    }
    for (const Place& at : places_) {
      if (goes_down() && begins_down(at)) take_down(at);
      if (is_reducing(kind_) && at.up_children.empty() && !at.is_root()) take_up(at);
    }
    for (const Place& at : places_) write_rank(at);
  }

 private:
  Place& place(Rank rank) { return places_[rank.value]; }
  [[nodiscard]] bool goes_down() const {
    return !is_reducing(kind_) || kind_ == CollectiveKind::kAllReduce;
  }
  // Whether the edge from its parent is the first of those that lanes join: the parent does not
  // pass on in the step that takes.
  bool begins_down(const Place& at) {
    if (at.is_root()) return false;
    const Place& above = place(at.parent);
    return above.is_root() || above.children.size() > 1;
  }
  void take_down(const Place& first) {
    std::vector<std::pair<Rank, Rank>> edges;
    std::vector<Place*> joined;
    for (Place* at = &place(first.rank);; at = &place(at->children.front())) {
      edges.emplace_back(at->parent, at->rank);
      joined.push_back(at);
      if (at->children.size() != 1) break;
    }
    const uint32_t channel = channels_.take(edges);
    for (Place* const at : joined) at->down = channel;
  }
  // From a leaf up for as long as one is the last child, whose lane passes the sum on.
  void take_up(const Place& leaf) {
    std::vector<std::pair<Rank, Rank>> edges;
    std::vector<Place*> joined;
    for (Place* at = &place(leaf.rank); !at->is_root(); at = &place(at->up_parent)) {
      edges.emplace_back(at->rank, at->up_parent);
      joined.push_back(at);
      if (place(at->up_parent).up_children.back() != at->rank) break;
    }
    const uint32_t channel = channels_.take(edges);
    for (Place* const at : joined) at->up = channel;
  }

  void write_rank(const Place& at) {
    if (!is_reducing(kind_)) {
      at.is_root() ? serve(at, {}) : pass_down(at);
      return;
    }
    const std::vector<StepRef> sums = add_up(at);
    if (kind_ != CollectiveKind::kAllReduce) return;
    at.is_root() ? serve(at, sums) : pass_down(at);
  }

  // Where the rank's own contribution lies, and where the result comes to lie.
  [[nodiscard]] Region own(uint32_t piece) const {
    const bool has_all = kind_ == CollectiveKind::kReduceScatter;
    return input(in_block(has_all, piece), share_.width);
  }
  [[nodiscard]] Region result(uint32_t piece) const {
    const bool has_all = kind_ == CollectiveKind::kAllGather;
    return output(in_block(has_all, piece), share_.width);
  }
  [[nodiscard]] uint32_t in_block(bool has_all_blocks, uint32_t piece) const {
    const uint32_t before = has_all_blocks ? share_.block * b_.layout().chunks_per_block() : 0;
    return before + share_.at(piece);
  }

  // Gives each child all pieces. `ready`: the step after which each may be sent; empty: at once.
  void serve(const Place& at, std::span<const StepRef> ready) {
    const bool from_input = !is_reducing(kind_) && at.is_root();
    for (const Rank child : at.children) {
      LaneWriter lane = b_.add_lane(at.rank, place(child).down);
      for (uint32_t piece = 0; piece < pieces_; ++piece) {
        const Region from = from_input ? own(piece) : result(piece);
        lane.send(from, child, ready.empty() ? After() : After(ready.subspan(piece, 1)));
      }
    }
  }

  void pass_down(const Place& at) {
    LaneWriter lane = b_.add_lane(at.rank, at.down);
    std::vector<StepRef> arrivals;
    for (uint32_t piece = 0; piece < pieces_; ++piece) {
      arrivals.push_back(at.children.size() == 1
                             ? lane.recv_copy_send(result(piece), at.parent, at.children.front())
                             : lane.recv(result(piece), at.parent));
    }
    if (at.children.size() > 1) serve(at, arrivals);
  }

  // Returns the steps after which the sum of each piece is complete.
  std::vector<StepRef> add_up(const Place& at) {
    if (at.up_children.empty()) return send_own(at);
    const bool in_output = at.is_root() || kind_ == CollectiveKind::kAllReduce;
    const uint32_t num_sums = std::min(
        pieces_, static_cast<uint32_t>(at.up_children.size()) + 2);  // one each, two in hand
    uint32_t first_sum = 0;
    for (uint32_t i = 0; !in_output && i < num_sums * share_.width; ++i) {
      const uint32_t position = b_.add_scratch(at.rank, kAnyChunk);
      if (i == 0) first_sum = position;
    }
    const auto sum = [&](uint32_t piece) {
      if (in_output) return result(piece);
      return scratch(first_sum + piece % num_sums * share_.width, share_.width);
    };
    std::vector<LaneWriter> lanes;
    for (size_t i = 0; i < at.up_children.size(); ++i) {
      lanes.push_back(b_.add_lane(at.rank, place(at.up_children[i]).up));
    }
    std::vector<StepRef> done;
    for (uint32_t piece = 0; piece < pieces_; ++piece) {
      // The place of its sum was that of an earlier one, which must have been taken.
      StepRef before = !in_output && piece >= num_sums ? done[piece - num_sums] : StepRef{};
      bool waits = !in_output && piece >= num_sums;
      Region from = own(piece);
      for (size_t i = 0; i < lanes.size(); ++i) {
        const bool passes_on = i + 1 == lanes.size() && !at.is_root();
        const After after = waits ? After(std::span(&before, 1)) : After();
        const Rank child = at.up_children[i];
        before = passes_on
                     ? lanes[i].recv_reduce_copy_send(from, sum(piece), child, at.up_parent, after)
                     : lanes[i].recv_reduce(from, sum(piece), child, after);
        waits = true;
        from = sum(piece);
      }
      done.push_back(before);
    }
    return done;
  }

  std::vector<StepRef> send_own(const Place& at) {
    LaneWriter lane = b_.add_lane(at.rank, at.up);
    std::vector<StepRef> done;
    for (uint32_t piece = 0; piece < pieces_; ++piece) {
      done.push_back(lane.send(own(piece), at.up_parent));
    }
    return done;
  }

  Builder& b_;
  CollectiveKind kind_;
  uint32_t pieces_;
  Channels channels_;
  std::vector<Place> places_;  // of the tree being written
  Share share_;
};

// The one block's weights; all blocks have the same.
Result<uint32_t> shares_per_block(const Collective& collective, std::span<const Tree> trees) {
  const bool by_root = collective.kind == CollectiveKind::kAllGather ||
                       collective.kind == CollectiveKind::kReduceScatter;
  std::vector<int64_t> sums(by_root ? collective.num_ranks : 1, 0);
  for (const Tree& tree : trees) sums[by_root ? tree.root : 0] += tree.weight;
  TUTTI_CHECK(std::all_of(sums.begin(), sums.end(), [&](int64_t s) { return s == sums[0]; }),
              "every block has the same number of shares");
  return chunks_per_block(collective, static_cast<uint64_t>(sums[0]));
}

void copy_own(Builder& b, const Collective& collective) {
  const uint32_t chunks = b.layout().chunks_per_block();
  if (collective.num_ranks == 1 || collective.kind == CollectiveKind::kBroadcast) {
    b.add_lane(Rank{collective.root}).copy(input(0, chunks), output(0, chunks));
  } else if (collective.kind == CollectiveKind::kAllGather) {
    for (uint32_t r = 0; r < collective.num_ranks; ++r) {
      b.add_lane(Rank{r}).copy(input(0, chunks), output(r * chunks, chunks));
    }
  }
}

}  // namespace

Result<Schedule> tree_schedule(const Collective& collective, std::span<const Tree> trees,
                               const TreeScheduleOptions& options) {
  const bool is_alone = collective.num_ranks == 1;
  uint32_t shares = 1;
  if (!is_alone) {
    TUTTI_ASSIGN(shares, shares_per_block(collective, trees));
  }
  TUTTI_ASSIGN(const uint32_t chunks,
               chunks_per_block(collective, uint64_t{shares} * options.pieces));
  Builder b(collective, {.name = options.name, .chunks_per_block = chunks});
  copy_own(b, collective);
  if (is_alone) return std::move(b).finish();
  const bool by_root = collective.kind == CollectiveKind::kAllGather ||
                       collective.kind == CollectiveKind::kReduceScatter;
  std::vector<uint32_t> next(collective.num_ranks, 0);
  Writer writer(b, options.pieces);
  for (uint32_t t = 0; t < trees.size(); ++t) {
    const uint32_t block = by_root ? trees[t].root : 0;
    const auto width = static_cast<uint32_t>(trees[t].weight);
    writer.write(trees[t], {next[block], width, block});
    next[block] += width * options.pieces;
  }
  return std::move(b).finish();
}

}  // namespace tutti::plan::packing
