#include "plan/synth/greedy_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "base/invalid.h"
#include "base/try.h"
#include "plan/synth/greedy_pairs.h"
#include "topo/router.h"

namespace tutti::plan::synth {
namespace {

constexpr double kKbPerSecondOfGbps = 1e6;
constexpr double kPsPerNs = 1e3;
// Below, a message of a gigabyte would take longer than 2^63 ps.
constexpr double kLeastGbps = 1e-6;
constexpr double kMostGbps = 1e5;
constexpr double kMostLatencyNs = 1e12;
// Where the pairs chosen leave ranks apart, all pairs are looked at, up to this many ranks.
constexpr uint32_t kMaxRanksOfAllPairs = 1024;

Status read_rates(const topo::Topology& topology, Network& network) {
  for (const topo::Link& link : topology.links) {
    if (link.gbps < kLeastGbps || link.gbps > kMostGbps || link.latency_ns > kMostLatencyNs) {
      return Error{
          ErrorCode::kUnsupported,
          fmt::format("the link from {} to {} has {} GB/s and {} ns; schedules are made "
                      "for rates from 1 kB/s to {:.0e} GB/s",
                      topology.nodes[link.from.value].name, topology.nodes[link.to.value].name,
                      link.gbps, link.latency_ns, kMostGbps)};
    }
    network.link_kb_per_s.push_back(
        static_cast<int64_t>(std::llround(link.gbps * kKbPerSecondOfGbps)));
  }
  return {};
}

// Appends the hop of a pair; nothing where no route leads.
void add_hop(const topo::Topology& topology, topo::Router& router, const Pair& pair,
             Network& network) {
  const auto route = router.route(Rank{pair.from}, Rank{pair.to});
  if (!route || route->empty()) return;
  Hop hop{.from = pair.from, .to = pair.to, .turn = pair.turn};
  hop.first_link = static_cast<uint32_t>(network.links.size());
  hop.num_links = static_cast<uint32_t>(route->size());
  hop.kb_per_s = INT64_MAX;
  double latency_ns = 0;
  for (const topo::LinkId link : *route) {
    const int64_t rate = network.link_kb_per_s[link.value];
    network.links.push_back(link.value);
    latency_ns += topology.links[link.value].latency_ns;
    if (rate < hop.kb_per_s) hop.from_port = link.value;
    if (rate <= hop.kb_per_s) hop.to_port = link.value;
    hop.kb_per_s = std::min(hop.kb_per_s, rate);
  }
  hop.latency_ps = std::llround(latency_ns * kPsPerNs);
  network.hops.push_back(hop);
}

// Ranks that rank `start` reaches over the hops that `counts` admits, or that reach it.
template <class Counts>
std::vector<bool> reached_from(const Network& network, uint32_t start, bool backwards,
                               Counts counts) {
  std::vector<std::vector<uint32_t>> next(network.num_ranks);
  for (const Hop& hop : network.hops) {
    if (!counts(hop)) continue;
    backwards ? next[hop.to].push_back(hop.from) : next[hop.from].push_back(hop.to);
  }
  std::vector<bool> seen(network.num_ranks, false);
  std::vector<uint32_t> pending = {start};
  seen[start] = true;
  while (!pending.empty()) {
    const uint32_t at = pending.back();
    pending.pop_back();
    for (const uint32_t to : next[at]) {
      if (seen[to]) continue;
      seen[to] = true;
      pending.push_back(to);
    }
  }
  return seen;
}

Status check_all_reached(const topo::Topology& topology, const Network& network) {
  const auto all = [](const Hop&) { return true; };
  for (const bool backwards : {false, true}) {
    const std::vector<bool> seen = reached_from(network, 0, backwards, all);
    const auto lost = std::find(seen.begin(), seen.end(), false);
    if (lost == seen.end()) continue;
    const auto other = static_cast<uint32_t>(lost - seen.begin());
    const uint32_t from = backwards ? other : 0;
    const uint32_t to = backwards ? 0 : other;
    return invalid(fmt::format(
        "{} (rank {}) cannot reach {} (rank {}), not even through other ranks, so there is no "
        "schedule; leave one of them out (--ranks) or see which links failed (--fail)",
        topology.device_of(Rank{from}).name, from, topology.device_of(Rank{to}).name, to));
  }
  return {};
}

// By machine: the ranks in it.
std::map<uint32_t, std::vector<uint32_t>> ranks_by_machine(const topo::Topology& topology) {
  std::map<uint32_t, std::vector<uint32_t>> machines;
  for (uint32_t r = 0; r < topology.num_ranks(); ++r) {
    machines[topology.device_of(Rank{r}).machine].push_back(r);
  }
  return machines;
}

// For every machine: whether the hops inside it that `counts` admits join all its ranks.
template <class Counts>
std::map<uint32_t, bool> joined_inside(const topo::Topology& topology, const Network& network,
                                       Counts counts) {
  std::map<uint32_t, bool> joined;
  const auto machine = [&](uint32_t r) { return topology.device_of(Rank{r}).machine; };
  const auto inside = [&](const Hop& hop) {
    return machine(hop.from) == machine(hop.to) && counts(hop);
  };
  // Machines share no hop that counts, so one search from a rank of each is one search of all.
  for (const auto& [number, ranks] : ranks_by_machine(topology)) joined[number] = true;
  for (const bool backwards : {false, true}) {
    std::vector<std::vector<uint32_t>> next(network.num_ranks);
    for (const Hop& hop : network.hops) {
      if (!inside(hop)) continue;
      backwards ? next[hop.to].push_back(hop.from) : next[hop.from].push_back(hop.to);
    }
    std::vector<bool> seen(network.num_ranks, false);
    std::vector<uint32_t> pending;
    for (const auto& [number, ranks] : ranks_by_machine(topology)) {
      pending.push_back(ranks.front());
      seen[ranks.front()] = true;
    }
    while (!pending.empty()) {
      const uint32_t at = pending.back();
      pending.pop_back();
      for (const uint32_t to : next[at]) {
        if (!seen[to]) pending.push_back(to);
        seen[to] = true;
      }
    }
    for (uint32_t r = 0; r < network.num_ranks; ++r) {
      if (!seen[r]) joined[machine(r)] = false;
    }
  }
  return joined;
}

bool takes_fast_links_only(const topo::Topology& topology, const Network& network, const Hop& hop) {
  const auto links = network.links_of(hop);
  return std::all_of(links.begin(), links.end(), [&](uint32_t link) {
    const topo::LinkClass kind = topology.links[link].link_class;
    return kind == topo::LinkClass::kNvlink || kind == topo::LinkClass::kXgmi;
  });
}

// Where NVLink or xGMI joins all ranks of a machine, slower ways inside it only hold up others.
void drop_slow_hops(const topo::Topology& topology, Network& network) {
  const auto is_fast = [&](const Hop& hop) {
    return takes_fast_links_only(topology, network, hop);
  };
  const auto joined = joined_inside(topology, network, is_fast);
  std::erase_if(network.hops, [&](const Hop& hop) {
    const uint32_t machine = topology.device_of(Rank{hop.from}).machine;
    const bool is_inside = machine == topology.device_of(Rank{hop.to}).machine;
    return is_inside && joined.at(machine) && !is_fast(hop);
  });
}

// Numbers the ports of each rank from 0 on, instead of by link.
std::vector<uint32_t> number_ports(Network& network, uint32_t Hop::*end, uint32_t Hop::*port) {
  std::vector<std::vector<uint32_t>> known(network.num_ranks);
  for (Hop& hop : network.hops) {
    auto& links = known[hop.*end];
    const auto found = std::find(links.begin(), links.end(), hop.*port);
    const auto number = static_cast<uint32_t>(found - links.begin());
    if (found == links.end()) links.push_back(hop.*port);
    hop.*port = number;
  }
  std::vector<uint32_t> counts;
  for (const auto& links : known) counts.push_back(static_cast<uint32_t>(links.size()));
  return counts;
}

void sort_hops(Network& network) {
  std::sort(network.hops.begin(), network.hops.end(), [](const Hop& a, const Hop& b) {
    return std::tuple(a.from, a.turn, a.to) < std::tuple(b.from, b.turn, b.to);
  });
  network.first_out.assign(network.num_ranks + 1, 0);
  for (const Hop& hop : network.hops) ++network.first_out[hop.from + 1];
  std::partial_sum(network.first_out.begin(), network.first_out.end(), network.first_out.begin());
}

void number_turns(Network& network) {
  std::map<uint32_t, uint32_t> numbers;
  for (const Hop& hop : network.hops) numbers[hop.turn] = 0;
  uint32_t next = 0;
  for (auto& [turn, number] : numbers) number = next++;
  for (Hop& hop : network.hops) hop.turn = numbers[hop.turn];
  network.num_turns = std::max<uint32_t>(next, 1);
}

// Finds the machines that Network::group names.
void find_groups(const topo::Topology& topology, Network& network) {
  network.group.assign(network.num_ranks, kNoGroup);
  const auto machines = ranks_by_machine(topology);
  if (machines.size() == 1) return;
  const auto machine_of = [&](uint32_t node) { return topology.nodes[node].machine; };
  std::map<uint32_t, int64_t> border;
  for (size_t l = 0; l < topology.links.size(); ++l) {
    const topo::Link& link = topology.links[l];
    const uint32_t to = machine_of(link.to.value);
    if (machine_of(link.from.value) != to) border[to] += network.link_kb_per_s[l];
  }
  std::map<uint32_t, int64_t> inside;
  std::vector<bool> is_counted(topology.links.size(), false);
  for (const Hop& hop : network.hops) {
    const uint32_t machine = topology.device_of(Rank{hop.to}).machine;
    const uint32_t last = network.links_of(hop).back();
    if (topology.device_of(Rank{hop.from}).machine != machine || is_counted[last]) continue;
    is_counted[last] = true;
    inside[machine] += network.link_kb_per_s[last];
  }
  const auto joined = joined_inside(topology, network, [](const Hop&) { return true; });
  for (const auto& [number, ranks] : machines) {
    if (ranks.size() < 2 || !joined.at(number) || border[number] >= inside[number]) continue;
    for (const uint32_t r : ranks) network.group[r] = network.num_groups;
    ++network.num_groups;
  }
}

}  // namespace

Result<Network> network_of(const topo::Topology& topology, Reach reach) {
  TUTTI_TRY(topo::check(topology));
  TUTTI_TRY(check_one_rank_a_device(topology));
  Network network;
  network.num_ranks = topology.num_ranks();
  TUTTI_TRY(read_rates(topology, network));
  topo::Router router(topology);
  for (const Pair& pair : pairs_of(topology, reach)) add_hop(topology, router, pair, network);
  drop_slow_hops(topology, network);
  if (!check_all_reached(topology, network) && network.num_ranks <= kMaxRanksOfAllPairs) {
    network.hops.clear();
    network.links.clear();
    for (const Pair& pair : all_pairs(network.num_ranks)) {
      add_hop(topology, router, pair, network);
    }
  }
  TUTTI_TRY(check_all_reached(topology, network));
  number_turns(network);
  sort_hops(network);
  network.num_from_ports = number_ports(network, &Hop::from, &Hop::from_port);
  network.num_to_ports = number_ports(network, &Hop::to, &Hop::to_port);
  find_groups(topology, network);
  return network;
}

Network reversed(const Network& network) {
  Network back = network;
  for (Hop& hop : back.hops) {
    std::swap(hop.from, hop.to);
    std::swap(hop.from_port, hop.to_port);
  }
  std::swap(back.num_from_ports, back.num_to_ports);
  sort_hops(back);
  return back;
}

uint64_t least_deliveries(const topo::Topology& topology) {
  const uint64_t p = topology.num_ranks();
  if (p < 2) return 0;
  const uint64_t all = p * (p - 1);
  if (p <= kMaxRanksOfAllPairs) return all;
  return 2 * all - pairs_of(topology, Reach::kAll).size();
}

}  // namespace tutti::plan::synth
