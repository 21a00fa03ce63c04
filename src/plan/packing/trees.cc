#include "plan/packing/trees.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace tutti::plan::packing {
namespace {

Tree hung_from(const Tree& tree, uint32_t root) {
  Tree result = tree;
  result.root = root;
  uint32_t above = kNoParent;
  for (uint32_t at = root; at != kNoParent;) {
    const uint32_t next = tree.parent[at];
    result.parent[at] = above;
    above = at;
    at = next;
  }
  return result;
}

}  // namespace

std::vector<uint32_t> depths(const Tree& tree) {
  std::vector<uint32_t> depth(tree.parent.size(), 0);
  for (uint32_t r = 0; r < tree.parent.size(); ++r) {
    for (uint32_t at = r; tree.parent[at] != kNoParent; at = tree.parent[at]) ++depth[r];
  }
  return depth;
}

uint32_t depth(const Tree& tree) {
  const std::vector<uint32_t> all = depths(tree);
  const uint32_t down = *std::max_element(all.begin(), all.end());
  return tree.up.empty() ? down : std::max(down, depth({tree.root, tree.up, tree.weight}));
}

uint32_t max_depth(const std::vector<Tree>& trees) {
  uint32_t most = 0;
  for (const Tree& tree : trees) most = std::max(most, depth(tree));
  return most;
}

std::vector<Tree> merged(std::vector<Tree> trees) {
  using Ranks = std::vector<uint32_t>;
  std::map<std::tuple<uint32_t, Ranks, Ranks>, int64_t> weights;
  for (Tree& tree : trees) {
    weights[{tree.root, std::move(tree.parent), std::move(tree.up)}] += tree.weight;
  }
  std::vector<Tree> result;
  for (const auto& [key, weight] : weights) {
    const auto& [root, parent, up] = key;
    result.push_back({root, parent, weight, up});
  }
  return result;
}

std::vector<Tree> unmerged(const std::vector<Tree>& trees) {
  std::vector<Tree> result;
  for (const Tree& tree : trees) {
    for (int64_t i = 0; i < tree.weight; ++i)
      result.push_back({tree.root, tree.parent, 1, tree.up});
  }
  return result;
}

Tree centred(const Tree& tree) {
  Tree best = tree;
  for (uint32_t r = 0; r < tree.parent.size(); ++r) {
    Tree other = hung_from(tree, r);
    if (depth(other) < depth(best)) best = std::move(other);
  }
  return best;
}

}  // namespace tutti::plan::packing
