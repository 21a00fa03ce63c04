// Cut the ranks [begin, end) in two halves. The root stays in its half, which is the larger one
// when they differ; the first rank of the other half becomes a child and the head of that half. Go
// on with both halves until every rank is alone. The larger half has ceil(m / 2) of m ranks, so
// ceil(log2 p) cuts are enough; for a power of two and root 0 this is the binomial tree itself.
#include "plan/algorithms/binomial_tree.h"

namespace tutti::plan {
namespace {

void grow(std::vector<BinomialNode>& nodes, Rank head, uint32_t begin, uint32_t end) {
  nodes[head.value].begin = begin;
  nodes[head.value].end = end;
  while (end - begin > 1) {
    const uint32_t other_size = (end - begin) / 2;
    const bool head_is_low = head.value < end - other_size;
    const uint32_t other = head_is_low ? end - other_size : begin;
    nodes[other].parent = head;
    nodes[head.value].children.push_back(Rank{other});
    grow(nodes, Rank{other}, other, other + other_size);
    if (head_is_low) {
      end -= other_size;
    } else {
      begin += other_size;
    }
  }
}

}  // namespace

std::vector<BinomialNode> binomial_tree(uint32_t num_ranks, Rank root) {
  std::vector<BinomialNode> nodes(num_ranks);
  grow(nodes, root, 0, num_ranks);
  return nodes;
}

}  // namespace tutti::plan
