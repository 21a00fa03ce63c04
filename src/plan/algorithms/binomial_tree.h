// The tree of the binomial algorithms: any number of ranks, any root, ceil(log2 p) deep, and the
// ranks of every subtree are consecutive. So the blocks of a subtree are one region of any buffer
// in rank order, and no message has to be cut where the rank numbers wrap.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace tutti::plan {

// A rank and the ranks below it: [begin, end), itself included. Only the root can have ranks of its
// subtree on both sides; elsewhere begin is the rank itself.
struct BinomialNode {
  Rank parent = kNoRank;
  uint32_t begin = 0;
  uint32_t end = 0;
  std::vector<Rank> children;  // the largest subtree first

  [[nodiscard]] uint32_t size() const { return end - begin; }
  [[nodiscard]] bool contains(uint32_t rank) const { return begin <= rank && rank < end; }
};

// One node a rank. The root must be one of the ranks.
[[nodiscard]] std::vector<BinomialNode> binomial_tree(uint32_t num_ranks, Rank root);

}  // namespace tutti::plan
