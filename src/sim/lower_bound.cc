#include "sim/lower_bound.h"

#include <algorithm>

#include "sim/least_latency.h"

namespace tutti::sim {
namespace {

// Ranks that share a device, or a machine: what passes between them does not cross the border.
struct Grouping {
  std::vector<uint32_t> group_of;  // by rank
  std::vector<double> in_gbps;     // by group, over its border
  std::vector<double> out_gbps;
  std::vector<uint32_t> num_ranks;
};

// By group: what must cross its border for the collective to be what it is.
struct Demand {
  std::vector<double> in;
  std::vector<double> out;
};

// `key_of_node` names the group of a node; groups without ranks are kept and demand nothing.
template <class KeyOfNode>
Grouping group_ranks(const topo::Topology& topology, uint32_t num_ranks,
                     const std::vector<double>& link_gbps, KeyOfNode key_of_node) {
  Grouping grouping;
  uint32_t num_groups = 0;
  for (uint32_t n = 0; n < topology.nodes.size(); ++n) {
    num_groups = std::max(num_groups, key_of_node(topo::NodeId{n}) + 1);
  }
  grouping.in_gbps.assign(num_groups, 0);
  grouping.out_gbps.assign(num_groups, 0);
  grouping.num_ranks.assign(num_groups, 0);
  for (uint32_t r = 0; r < num_ranks; ++r) {
    grouping.group_of.push_back(key_of_node(topology.ranks[r]));
    ++grouping.num_ranks[grouping.group_of.back()];
  }
  for (uint32_t l = 0; l < topology.links.size(); ++l) {
    const uint32_t from = key_of_node(topology.links[l].from);
    const uint32_t to = key_of_node(topology.links[l].to);
    if (from == to) continue;
    grouping.out_gbps[from] += link_gbps[l];
    grouping.in_gbps[to] += link_gbps[l];
  }
  return grouping;
}

class Bounds {
 public:
  Bounds(const ir::Layout& layout, const ir::Sizes& sizes, uint32_t elem_bytes)
      : collective_(layout.collective()), sizes_(sizes), elem_bytes_(elem_bytes) {
    const uint64_t row = collective_.kind == CollectiveKind::kAllToAll ? 0 : layout.num_blocks();
    for (uint64_t b = 0; b < row; ++b) total_ += block(b);
  }

  void bandwidth(const Grouping& grouping, bool is_machine, LowerBound& bound) const {
    const Demand demand = demand_of(grouping);
    for (uint32_t g = 0; g < grouping.num_ranks.size(); ++g) {
      const double ns = std::max(time(demand.in[g], grouping.in_gbps[g]),
                                 time(demand.out[g], grouping.out_gbps[g]));
      if (ns <= bound.bandwidth_ns) continue;
      bound.bandwidth_ns = ns;
      bound.cut = is_machine ? BoundCut::kMachine : BoundCut::kDevice;
      bound.cut_index = is_machine ? g : first_rank(grouping, g);
    }
    if (collective_.kind != CollectiveKind::kAllReduce) return;
    const double together_ns = all_reduce_ns(grouping);
    if (together_ns <= bound.bandwidth_ns) return;
    bound.bandwidth_ns = together_ns;
    bound.cut = is_machine ? BoundCut::kAllMachines : BoundCut::kAllDevices;
    bound.cut_index = 0;
  }

  [[nodiscard]] bool must_reach(uint32_t from, uint32_t to) const {
    if (from == to) return false;
    switch (collective_.kind) {
      case CollectiveKind::kBarrier: return true;
      case CollectiveKind::kAllReduce: return block(0) > 0;
      case CollectiveKind::kReduce: return block(0) > 0 && to == collective_.root;
      case CollectiveKind::kBroadcast: return block(0) > 0 && from == collective_.root;
      case CollectiveKind::kSendRecv:
        return block(0) > 0 && from == collective_.root && to == collective_.peer;
      case CollectiveKind::kAllGather: return block(from) > 0;
      case CollectiveKind::kGather: return block(from) > 0 && to == collective_.root;
      case CollectiveKind::kReduceScatter: return block(to) > 0;
      case CollectiveKind::kScatter: return block(to) > 0 && from == collective_.root;
      case CollectiveKind::kAllToAll: return block(uint64_t{from} * collective_.num_ranks + to) > 0;
    }
    return false;
  }

 private:
  [[nodiscard]] double block(uint64_t index) const {
    return static_cast<double>(sizes_.block_elems(index)) * elem_bytes_;
  }

  static double time(double bytes, double gbps) { return bytes == 0 ? 0 : bytes / gbps; }

  static uint32_t first_rank(const Grouping& grouping, uint32_t group) {
    const auto found = std::find(grouping.group_of.begin(), grouping.group_of.end(), group);
    return static_cast<uint32_t>(found - grouping.group_of.begin());
  }

  // Every element is sent at least once by all groups but one before its sum exists anywhere, and
  // once more to each group but that one: 2 (g - 1) crossings, which all borders together carry.
  [[nodiscard]] double all_reduce_ns(const Grouping& grouping) const {
    double in_gbps = 0;
    double out_gbps = 0;
    double num_groups = 0;
    for (uint32_t g = 0; g < grouping.num_ranks.size(); ++g) {
      if (grouping.num_ranks[g] == 0) continue;
      in_gbps += grouping.in_gbps[g];
      out_gbps += grouping.out_gbps[g];
      ++num_groups;
    }
    return time(2 * (num_groups - 1) * total_, std::min(in_gbps, out_gbps));
  }

  [[nodiscard]] Demand demand_of(const Grouping& grouping) const {
    const size_t num_groups = grouping.num_ranks.size();
    if (collective_.kind == CollectiveKind::kAllToAll) return all_to_all_demand(grouping);
    Demand demand{std::vector<double>(num_groups, 0), std::vector<double>(num_groups, 0)};
    std::vector<double> own(num_groups, 0);  // blocks that belong to ranks of the group
    const bool has_own = collective_.kind == CollectiveKind::kAllGather ||
                         collective_.kind == CollectiveKind::kGather ||
                         collective_.kind == CollectiveKind::kScatter ||
                         collective_.kind == CollectiveKind::kReduceScatter;
    for (uint32_t r = 0; has_own && r < collective_.num_ranks; ++r) {
      own[grouping.group_of[r]] += block(r);
    }
    for (uint32_t g = 0; g < num_groups; ++g) {
      if (grouping.num_ranks[g] == 0 || grouping.num_ranks[g] == collective_.num_ranks) continue;
      const bool has_root = grouping.group_of[collective_.root] == g;
      const bool has_peer = grouping.group_of[collective_.peer] == g;
      switch (collective_.kind) {
        case CollectiveKind::kAllReduce: demand.in[g] = demand.out[g] = total_; break;
        case CollectiveKind::kReduce: (has_root ? demand.in : demand.out)[g] = total_; break;
        case CollectiveKind::kBroadcast: (has_root ? demand.out : demand.in)[g] = total_; break;
        case CollectiveKind::kAllGather:
          demand.in[g] = total_ - own[g];
          demand.out[g] = own[g];
          break;
        case CollectiveKind::kReduceScatter:
          demand.in[g] = own[g];
          demand.out[g] = total_ - own[g];
          break;
        case CollectiveKind::kGather:
          (has_root ? demand.in : demand.out)[g] = has_root ? total_ - own[g] : own[g];
          break;
        case CollectiveKind::kScatter:
          (has_root ? demand.out : demand.in)[g] = has_root ? total_ - own[g] : own[g];
          break;
        case CollectiveKind::kSendRecv:
          if (has_root && !has_peer) demand.out[g] = total_;
          if (has_peer && !has_root) demand.in[g] = total_;
          break;
        case CollectiveKind::kAllToAll:
        case CollectiveKind::kBarrier: break;
      }
    }
    return demand;
  }

  [[nodiscard]] Demand all_to_all_demand(const Grouping& grouping) const {
    Demand demand{std::vector<double>(grouping.num_ranks.size(), 0),
                  std::vector<double>(grouping.num_ranks.size(), 0)};
    const uint32_t p = collective_.num_ranks;
    for (uint32_t from = 0; from < p; ++from) {
      for (uint32_t to = 0; to < p; ++to) {
        if (grouping.group_of[from] == grouping.group_of[to]) continue;
        const double bytes = block(uint64_t{from} * p + to);
        demand.out[grouping.group_of[from]] += bytes;
        demand.in[grouping.group_of[to]] += bytes;
      }
    }
    return demand;
  }

  const Collective& collective_;
  const ir::Sizes& sizes_;
  double elem_bytes_;
  double total_ = 0;  // of all blocks; not for all_to_all, which has a square of them
};

// From how many ranks least latencies are searched: all of them on small topologies, a sample on
// large ones, since the bound holds for any sample and searching from all would cost more than the
// simulation.
uint32_t num_sources(const topo::Topology& topology, uint32_t num_ranks) {
  constexpr size_t kBudget = 4'000'000;
  const size_t cost = topology.nodes.size() + topology.links.size() + 1;
  return static_cast<uint32_t>(std::clamp<size_t>(kBudget / cost, 1, num_ranks));
}

double latency_bound(const Bounds& bounds, const Collective& collective,
                     const topo::Topology& topology) {
  const uint32_t p = collective.num_ranks;
  const bool to_root =
      collective.kind == CollectiveKind::kReduce || collective.kind == CollectiveKind::kGather;
  LeastLatency search(topology, to_root ? LeastLatency::Way::kTo : LeastLatency::Way::kFrom);
  const uint32_t count = is_rooted(collective.kind) ? 1 : num_sources(topology, p);
  double longest = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t source = is_rooted(collective.kind)
                                ? collective.root
                                : static_cast<uint32_t>(uint64_t{p} * i / count);
    const std::vector<double>& latency = search.of(topology.ranks[source]);
    for (uint32_t other = 0; other < p; ++other) {
      const bool counts =
          to_root ? bounds.must_reach(other, source) : bounds.must_reach(source, other);
      if (counts) longest = std::max(longest, latency[topology.ranks[other].value]);
    }
  }
  return longest;
}

}  // namespace

std::string_view to_string(BoundKind kind) noexcept {
  switch (kind) {
    case BoundKind::kNone: return "none";
    case BoundKind::kLatency: return "latency";
    case BoundKind::kBandwidth: return "bandwidth";
  }
  return "unknown";
}

std::string_view to_string(BoundCut cut) noexcept {
  switch (cut) {
    case BoundCut::kNone: return "none";
    case BoundCut::kDevice: return "device";
    case BoundCut::kAllDevices: return "all devices";
    case BoundCut::kMachine: return "machine";
    case BoundCut::kAllMachines: return "all machines";
  }
  return "unknown";
}

LowerBound lower_bound(const ir::Layout& layout, const ir::Sizes& sizes, uint32_t elem_bytes,
                       const topo::Topology& topology, const std::vector<double>& link_gbps) {
  const Bounds bounds(layout, sizes, elem_bytes);
  const uint32_t p = layout.collective().num_ranks;
  LowerBound bound;
  bounds.bandwidth(
      group_ranks(topology, p, link_gbps, [](topo::NodeId node) { return node.value; }), false,
      bound);
  const auto machine_of = [&](topo::NodeId node) { return topology.nodes[node.value].machine; };
  bounds.bandwidth(group_ranks(topology, p, link_gbps, machine_of), true, bound);
  bound.latency_ns = latency_bound(bounds, layout.collective(), topology);
  return bound;
}

}  // namespace tutti::sim
