// Edmonds' theorem, made by Lovász' proof: grow the trees edge by edge, and take an edge only if
// all that is still to be grown has room. Room is this: every set Z of ranks has, coming in, as
// many links left as there are unfinished trees that have not touched it. Equal trees grow
// together, as one batch with a weight; when only f copies can take an edge the batch is split.
// (Many roots: Bang-Jensen, Frank, Jackson. The test: Tarjan; Bérczi, Frank; ForestColl.)
//
// The test of an edge (x, y) for a batch: only sets Z with y, without x, that the batch has touched
// lose a link and no duty. The least that they have to spare is a minimum cut between x and y, in
// the graph with a node for every other batch: a source, which is x or as good as x, feeds it with
// its weight, and it feeds, without limit, all ranks the batch has touched. From one test to the
// next little of that graph changes, so it is kept, and only capacities are set.
//
// While a batch grows links become fewer and those who wait for them do not: a set that has nothing
// to spare has nothing until the batch is done, and all links into it are not asked for again.
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

// The graph of the test: links that are left, and the batches that wait for their turn.
class Waiting {
 public:
  explicit Waiting(const Graph& graph)
      : num_ranks_(graph.num_ranks),
        source_(graph.num_ranks),
        flow_(graph.num_ranks + 1),
        links_(graph.num_ranks, std::vector<uint32_t>(graph.num_ranks, kNoArc)),
        at_root_(graph.num_ranks, 0) {
    for (uint32_t a = 0; a < num_ranks_; ++a) {
      from_source_.push_back(flow_.add(source_, a, 0));
      for (uint32_t b = 0; b < num_ranks_; ++b) {
        if (graph.capacity[a][b] > 0) links_[a][b] = flow_.add(a, b, graph.capacity[a][b]);
      }
    }
  }

  void set_link(uint32_t a, uint32_t b, int64_t capacity) {
    flow_.set_capacity(links_[a][b], capacity);
  }

  void push(Batch batch) {
    weight_ += batch.tree.weight;
    // One that has touched its root alone needs no node of its own, and most are so.
    if (batch.touched.size() == 1) {
      at_root_[batch.tree.root] += batch.tree.weight;
      feed_root(batch.tree.root);
      nodes_of_.push_back(kNoArc);
    } else {
      nodes_of_.push_back(take_node());
      const Node& node = nodes_[nodes_of_.back()];
      flow_.set_capacity(node.from_source, batch.tree.weight);
      for (const uint32_t r : batch.touched) flow_.set_capacity(node.to_rank[r], kUnlimited);
    }
    batches_.push_back(std::move(batch));
  }

  Batch pop() {
    Batch batch = std::move(batches_.back());
    batches_.pop_back();
    weight_ -= batch.tree.weight;
    const uint32_t number = nodes_of_.back();
    nodes_of_.pop_back();
    if (number == kNoArc) {
      at_root_[batch.tree.root] -= batch.tree.weight;
      feed_root(batch.tree.root);
      return batch;
    }
    const Node& node = nodes_[number];
    flow_.set_capacity(node.from_source, 0);
    for (const uint32_t r : batch.touched) flow_.set_capacity(node.to_rank[r], 0);
    free_.push_back(number);
    return batch;
  }

  [[nodiscard]] bool is_empty() const { return batches_.empty(); }

  // How often a batch that does not wait may take the link from x to y.
  int64_t spare(uint32_t x, uint32_t y) {
    flow_.set_capacity(from_source_[x], kUnlimited);
    const int64_t flow = flow_.run(source_, y);
    feed_root(x);
    return flow - weight_;
  }
  // Of the last question, by rank: whether it is outside of the set that has least to spare.
  [[nodiscard]] std::vector<bool> outside() const { return flow_.source_side(); }

 private:
  static constexpr uint32_t kNoArc = UINT32_MAX;
  struct Node {
    uint32_t from_source;
    std::vector<uint32_t> to_rank;
  };

  void feed_root(uint32_t r) { flow_.set_capacity(from_source_[r], at_root_[r]); }

  uint32_t take_node() {
    if (free_.empty()) {
      const uint32_t node = flow_.add_node();
      nodes_.push_back({flow_.add(source_, node, 0), {}});
      for (uint32_t r = 0; r < num_ranks_; ++r) {
        nodes_.back().to_rank.push_back(flow_.add(node, r, 0));
      }
      free_.push_back(static_cast<uint32_t>(nodes_.size() - 1));
    }
    const uint32_t number = free_.back();
    free_.pop_back();
    return number;
  }

  uint32_t num_ranks_;
  uint32_t source_;
  Flow flow_;
  std::vector<std::vector<uint32_t>> links_;  // arcs
  std::vector<uint32_t> from_source_;         // arcs
  std::vector<int64_t> at_root_;              // weight of those that have touched this root alone
  std::vector<Node> nodes_;
  std::vector<uint32_t> free_;  // of these
  std::vector<Batch> batches_;
  std::vector<uint32_t> nodes_of_;  // by batch
  int64_t weight_ = 0;              // of all
};

class Packer {
 public:
  Packer(const Graph& graph, const std::vector<int64_t>& demand)
      : num_ranks_(graph.num_ranks), capacity_(graph.capacity), open_(graph) {
    for (uint32_t r = 0; r < num_ranks_; ++r) {
      if (demand[r] == 0) continue;
      open_.push({{r, std::vector<uint32_t>(num_ranks_, kNoParent), demand[r]}, {r}});
    }
  }

  std::vector<Tree> run() && {
    while (!open_.is_empty()) {
      Batch batch = open_.pop();
      is_blocked_.assign(size_t{num_ranks_} * num_ranks_, false);
      while (batch.touched.size() < num_ranks_) grow(batch);
      done_.push_back(std::move(batch.tree));
    }
    return std::move(done_);
  }

 private:
  void grow(Batch& batch) {
    for (const uint32_t x : batch.touched) {
      for (uint32_t y = 0; y < num_ranks_; ++y) {
        if (batch.has(y) || capacity_[x][y] == 0 || is_blocked_[size_t{x} * num_ranks_ + y])
          continue;
        const int64_t spare = open_.spare(x, y);
        if (spare <= 0) {
          block(open_.outside());
          continue;
        }
        take(batch, x, y, std::min({batch.tree.weight, capacity_[x][y], spare}));
        return;
      }
    }
    TUTTI_CHECK(false, "a tree of a supported demand can always grow");
  }

  void block(const std::vector<bool>& outside) {
    for (uint32_t a = 0; a < num_ranks_; ++a) {
      for (uint32_t b = 0; outside[a] && b < num_ranks_; ++b) {
        if (!outside[b]) is_blocked_[size_t{a} * num_ranks_ + b] = true;
      }
    }
  }

  void take(Batch& batch, uint32_t x, uint32_t y, int64_t copies) {
    if (copies < batch.tree.weight) {
      Batch rest = batch;
      rest.tree.weight -= copies;
      batch.tree.weight = copies;
      open_.push(std::move(rest));
    }
    capacity_[x][y] -= copies;
    open_.set_link(x, y, capacity_[x][y]);
    batch.tree.parent[y] = x;
    batch.touched.push_back(y);
  }

  uint32_t num_ranks_;
  std::vector<std::vector<int64_t>> capacity_;
  Waiting open_;
  std::vector<bool> is_blocked_;  // by link: not for the batch that grows
  std::vector<Tree> done_;
};

}  // namespace

std::vector<Tree> pack_arborescences(const Graph& graph, const std::vector<int64_t>& demand) {
  return Packer(graph, demand).run();
}

}  // namespace tutti::plan::packing
