// Edmonds' theorem, made by Lovász' proof: grow the trees edge by edge, and take an edge only if
// all that is still to be grown has room. Room is this: every set Z of ranks has, coming in, as
// many links left as there are unfinished trees that have not touched it. Equal trees grow
// together, as one batch with a weight; when only f copies can take an edge the batch is split.
// (Many roots: Bang-Jensen, Frank, Jackson. The test: Tarjan; Bérczi, Frank; ForestColl.)
//
// The test of an edge (x, y) for a batch: only sets Z with y, without x, that the batch has touched
// lose a link and no duty. The least that they have to spare is a minimum cut between x and y, in
// the graph with a node for every other batch: x feeds it with its weight, and it feeds, without
// limit, all ranks the batch has touched.
//
// Ranks near the root are asked first for an edge, which makes shallow trees.
#include "plan/packing/arborescences.h"

#include <algorithm>

#include "base/check.h"
#include "plan/packing/flow.h"

namespace tutti::plan::packing {
namespace {

struct Batch {
  Tree tree;
  std::vector<uint32_t> touched;  // in the order of growth: nearest to the root first

  [[nodiscard]] bool has(uint32_t r) const { return r == tree.root || tree.parent[r] != kNoParent; }
};

class Packer {
 public:
  Packer(const Graph& graph, const std::vector<int64_t>& demand)
      : num_ranks_(graph.num_ranks), capacity_(graph.capacity) {
    for (uint32_t r = 0; r < num_ranks_; ++r) {
      if (demand[r] == 0) continue;
      open_.push_back({{r, std::vector<uint32_t>(num_ranks_, kNoParent), demand[r]}, {r}});
    }
  }

  std::vector<Tree> run() && {
    while (!open_.empty()) {
      Batch batch = std::move(open_.back());
      open_.pop_back();
      while (batch.touched.size() < num_ranks_) grow(batch);
      done_.push_back(std::move(batch.tree));
    }
    return std::move(done_);
  }

 private:
  void grow(Batch& batch) {
    for (const uint32_t x : batch.touched) {
      for (uint32_t y = 0; y < num_ranks_; ++y) {
        if (batch.has(y) || capacity_[x][y] == 0) continue;
        const int64_t room = room_for(batch, x, y);
        if (room <= 0) continue;
        take(batch, x, y, room);
        return;
      }
    }
    TUTTI_CHECK(false, "a tree of a supported demand can always grow");
  }

  int64_t room_for(const Batch& batch, uint32_t x, uint32_t y) const {
    Flow flow(num_ranks_ + static_cast<uint32_t>(open_.size()));
    flow.add_all(capacity_);
    int64_t others = 0;
    for (uint32_t i = 0; i < open_.size(); ++i) {
      const Batch& other = open_[i];
      others += other.tree.weight;
      if (other.touched.size() == 1) {  // needs no node of its own, and most are so
        if (other.tree.root != x) flow.add(x, other.tree.root, other.tree.weight);
        continue;
      }
      const uint32_t node = num_ranks_ + i;
      flow.add(x, node, other.tree.weight);
      for (const uint32_t r : other.touched) flow.add(node, r, kUnlimited);
    }
    return std::min({batch.tree.weight, capacity_[x][y], flow.run(x, y) - others});
  }

  void take(Batch& batch, uint32_t x, uint32_t y, int64_t copies) {
    if (copies < batch.tree.weight) {
      Batch rest = batch;
      rest.tree.weight -= copies;
      batch.tree.weight = copies;
      open_.push_back(std::move(rest));
    }
    capacity_[x][y] -= copies;
    batch.tree.parent[y] = x;
    batch.touched.push_back(y);
  }

  uint32_t num_ranks_;
  std::vector<std::vector<int64_t>> capacity_;
  std::vector<Batch> open_;
  std::vector<Tree> done_;
};

}  // namespace

std::vector<Tree> pack_arborescences(const Graph& graph, const std::vector<int64_t>& demand) {
  return Packer(graph, demand).run();
}

}  // namespace tutti::plan::packing
