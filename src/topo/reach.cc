#include "topo/reach.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "base/invalid.h"

namespace tutti::topo {
namespace {

enum class Along : uint8_t { kLinks, kLinksBackwards };

// The first rank that rank 0 does not reach, or none.
std::optional<uint32_t> rank_out_of_reach(const Topology& topology, Along along) {
  std::vector<bool> passes_on(topology.nodes.size());
  for (size_t n = 0; n < passes_on.size(); ++n) {
    passes_on[n] = topology.nodes[n].kind != NodeKind::kDevice;
  }
  for (const NodeId device : topology.ranks) passes_on[device.value] = true;
  std::vector<std::vector<NodeId>> next(topology.nodes.size());
  for (const Link& link : topology.links) {
    const bool is_forward = along == Along::kLinks;
    const NodeId from = is_forward ? link.from : link.to;
    next[from.value].push_back(is_forward ? link.to : link.from);
  }
  std::vector<bool> seen(topology.nodes.size(), false);
  std::vector<NodeId> pending = {topology.ranks.front()};
  seen[pending.front().value] = true;
  while (!pending.empty()) {
    const NodeId at = pending.back();
    pending.pop_back();
    for (const NodeId to : next[at.value]) {
      if (seen[to.value] || !passes_on[to.value]) continue;
      seen[to.value] = true;
      pending.push_back(to);
    }
  }
  for (uint32_t r = 0; r < topology.num_ranks(); ++r) {
    if (!seen[topology.ranks[r].value]) return r;
  }
  return std::nullopt;
}

}  // namespace

Status check_reach(const Topology& topology) {
  if (topology.ranks.empty()) return {};
  const auto cannot = [&](uint32_t from, uint32_t to) {
    return invalid(fmt::format(
        "{} (rank {}) cannot reach {} (rank {}), not even through other ranks, so there is no "
        "schedule; leave one of them out (--ranks) or see which links failed (--fail)",
        topology.device_of(Rank{from}).name, from, topology.device_of(Rank{to}).name, to));
  };
  if (const auto rank = rank_out_of_reach(topology, Along::kLinks)) return cannot(0, *rank);
  if (const auto rank = rank_out_of_reach(topology, Along::kLinksBackwards)) {
    return cannot(*rank, 0);
  }
  return {};
}

}  // namespace tutti::topo
