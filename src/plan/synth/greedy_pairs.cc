#include "plan/synth/greedy_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "base/invalid.h"

namespace tutti::plan::synth {
namespace {

constexpr uint32_t kNobody = UINT32_MAX;
// Of so many other ranks around a switch, or other machines, all are peers.
constexpr uint32_t kMaxPeers = 31;
// Turns of the three kinds of pairs begin here, so that they stay apart.
constexpr uint32_t kSwitchTurns = 1;
constexpr uint32_t kMachineTurns = 1u << 24;

// By node: the rank whose device it is or whose router. A router stands beside one device, costs it
// no latency and gives it all that its cables carry, so passing through is no better than passing
// on: the device takes its place.
std::vector<uint32_t> owners_of(const topo::Topology& topology) {
  const size_t num_nodes = topology.nodes.size();
  std::vector<uint32_t> owner(num_nodes, kNobody);
  for (uint32_t r = 0; r < topology.num_ranks(); ++r) owner[topology.ranks[r].value] = r;
  struct Beside {
    uint32_t device = kNobody;
    bool is_one = true;
    bool is_free = true;
    double to_device = 0;
    double from_others = 0;
  };
  std::vector<Beside> beside(num_nodes);
  const auto is_device = [&](topo::NodeId node) {
    return topology.nodes[node.value].kind == topo::NodeKind::kDevice;
  };
  for (const topo::Link& link : topology.links) {
    const auto meets = [&](topo::NodeId device, Beside& at) {
      at.is_one = at.is_one && (at.device == kNobody || at.device == device.value);
      at.device = device.value;
      at.is_free = at.is_free && link.latency_ns == 0;
    };
    if (is_device(link.to)) meets(link.to, beside[link.from.value]);
    if (is_device(link.from)) meets(link.from, beside[link.to.value]);
    if (is_device(link.to)) beside[link.from.value].to_device += link.gbps;
    if (!is_device(link.from)) beside[link.to.value].from_others += link.gbps;
  }
  for (size_t n = 0; n < num_nodes; ++n) {
    const Beside& at = beside[n];
    if (topology.nodes[n].kind != topo::NodeKind::kSwitch || at.device == kNobody) continue;
    const bool is_router = at.is_one && at.is_free && at.to_device >= at.from_others * (1 - 1e-9);
    if (is_router) owner[n] = owner[at.device];
  }
  return owner;
}

// Which others of a circle of n are peers: all, or those 1, 2, 4, ... ahead and behind.
std::vector<uint32_t> offsets_in(uint32_t n, Reach reach) {
  std::vector<uint32_t> offsets;
  if (reach == Reach::kAll || n <= kMaxPeers + 1) {
    for (uint32_t offset = 1; offset < n; ++offset) offsets.push_back(offset);
    return offsets;
  }
  for (uint32_t offset = 1; offset <= n / 2; offset *= 2) {
    offsets.push_back(offset);
    offsets.push_back(n - offset);
  }
  return offsets;
}

struct DisjointSets {
  explicit DisjointSets(size_t n) : parent(n) {
    std::iota(parent.begin(), parent.end(), uint32_t{0});
  }
  uint32_t find(uint32_t x) {
    while (parent[x] != x) x = parent[x] = parent[parent[x]];
    return x;
  }
  void join(uint32_t a, uint32_t b) { parent[find(a)] = find(b); }

  std::vector<uint32_t> parent;
};

// The ranks around each connected part of a machine's switches.
std::vector<std::vector<uint32_t>> ranks_around_switches(const topo::Topology& topology,
                                                         const std::vector<uint32_t>& owner) {
  DisjointSets parts(topology.nodes.size());
  const auto is_inner = [&](topo::NodeId node) {
    return owner[node.value] == kNobody &&
           topology.nodes[node.value].kind != topo::NodeKind::kDevice;
  };
  for (const topo::Link& link : topology.links) {
    const bool is_one_machine =
        topology.nodes[link.from.value].machine == topology.nodes[link.to.value].machine;
    if (is_inner(link.from) && is_inner(link.to) && is_one_machine) {
      parts.join(link.from.value, link.to.value);
    }
  }
  std::map<uint32_t, std::vector<uint32_t>> around;
  const auto touch = [&](topo::NodeId inner, topo::NodeId outer) {
    if (is_inner(inner) && owner[outer.value] != kNobody) {
      around[parts.find(inner.value)].push_back(owner[outer.value]);
    }
  };
  for (const topo::Link& link : topology.links) {
    touch(link.from, link.to);
    touch(link.to, link.from);
  }
  std::vector<std::vector<uint32_t>> result;
  for (auto& [part, ranks] : around) {
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    if (ranks.size() > 1) result.push_back(std::move(ranks));
  }
  return result;
}

void add_pairs_around_switches(const topo::Topology& topology, const std::vector<uint32_t>& owner,
                               Reach reach, std::vector<Pair>& pairs) {
  for (const auto& ranks : ranks_around_switches(topology, owner)) {
    const auto n = static_cast<uint32_t>(ranks.size());
    for (const uint32_t offset : offsets_in(n, reach)) {
      for (uint32_t i = 0; i < n; ++i) {
        pairs.push_back({ranks[i], ranks[(i + offset) % n], kSwitchTurns + offset});
      }
    }
  }
}

void add_pairs_across_machines(const topo::Topology& topology, Reach reach,
                               std::vector<Pair>& pairs) {
  std::map<uint32_t, std::vector<uint32_t>> by_number;
  for (uint32_t r = 0; r < topology.num_ranks(); ++r) {
    by_number[topology.device_of(Rank{r}).machine].push_back(r);
  }
  std::vector<const std::vector<uint32_t>*> machines;
  for (const auto& [number, ranks] : by_number) machines.push_back(&ranks);
  const auto n = static_cast<uint32_t>(machines.size());
  for (const uint32_t offset : offsets_in(n, reach)) {
    for (uint32_t m = 0; m < n; ++m) {
      const auto& here = *machines[m];
      const auto& there = *machines[(m + offset) % n];
      for (size_t place = 0; place < std::max(here.size(), there.size()); ++place) {
        pairs.push_back(
            {here[place % here.size()], there[place % there.size()], kMachineTurns + offset});
      }
    }
  }
}

void keep_one_of_each(std::vector<Pair>& pairs) {
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
    return std::tuple(a.from, a.to, a.turn) < std::tuple(b.from, b.to, b.turn);
  });
  const auto same = [](const Pair& a, const Pair& b) { return a.from == b.from && a.to == b.to; };
  pairs.erase(std::unique(pairs.begin(), pairs.end(), same), pairs.end());
}

}  // namespace

std::vector<Pair> pairs_of(const topo::Topology& topology, Reach reach) {
  const std::vector<uint32_t> owner = owners_of(topology);
  std::vector<Pair> pairs;
  for (const topo::Link& link : topology.links) {
    const uint32_t from = owner[link.from.value];
    const uint32_t to = owner[link.to.value];
    if (from != kNobody && to != kNobody && from != to) pairs.push_back({from, to, 0});
  }
  add_pairs_around_switches(topology, owner, reach, pairs);
  add_pairs_across_machines(topology, reach, pairs);
  keep_one_of_each(pairs);
  return pairs;
}

std::vector<Pair> all_pairs(uint32_t num_ranks) {
  std::vector<Pair> pairs;
  for (uint32_t from = 0; from < num_ranks; ++from) {
    for (uint32_t to = 0; to < num_ranks; ++to) {
      if (from != to) pairs.push_back({from, to, (to + num_ranks - from) % num_ranks});
    }
  }
  return pairs;
}

Status check_one_rank_a_device(const topo::Topology& topology) {
  std::vector<bool> is_taken(topology.nodes.size(), false);
  for (uint32_t r = 0; r < topology.num_ranks(); ++r) {
    if (is_taken[topology.ranks[r].value]) {
      return invalid(
          fmt::format("rank {} shares {} with another rank; synthesis needs a device for each rank",
                      r, topology.device_of(Rank{r}).name));
    }
    is_taken[topology.ranks[r].value] = true;
  }
  return {};
}

}  // namespace tutti::plan::synth
