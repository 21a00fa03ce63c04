#include "sim/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/invalid.h"
#include "base/try.h"
#include "sim/binding.h"
#include "sim/flows.h"
#include "topo/router.h"

namespace tutti::sim {
namespace {

bool is_time(double value) { return std::isfinite(value) && value >= 0; }
bool is_factor(double value) { return std::isfinite(value) && value >= 1; }

// The ranks that one rank sends to, each once, in order.
class PeerCollector {
 public:
  explicit PeerCollector(size_t num_ranks) : seen_by_(num_ranks, UINT32_MAX) {}

  const std::vector<uint32_t>& peers_of(uint32_t rank, const ir::RankProgram& program) {
    peers_.clear();
    for (const ir::Lane& lane : program.lanes) {
      for (const ir::Step& step : lane.steps) {
        if (!ir::sends(step.kind) || seen_by_[step.send_peer.value] == rank) continue;
        seen_by_[step.send_peer.value] = rank;
        peers_.push_back(step.send_peer.value);
      }
    }
    std::sort(peers_.begin(), peers_.end());
    return peers_;
  }

 private:
  std::vector<uint32_t> seen_by_;
  std::vector<uint32_t> peers_;
};

}  // namespace

Result<Machine> Machine::create(const ir::Schedule& schedule, const topo::Topology& topology,
                                const Options& options) {
  if (schedule.ranks.size() > topology.num_ranks()) {
    return invalid(
        fmt::format("the schedule has {} ranks but topology '{}' has {}; take a larger "
                    "topology or plan for fewer ranks",
                    schedule.ranks.size(), topology.name, topology.num_ranks()));
  }
  Machine machine;
  machine.ranks_.resize(schedule.ranks.size());
  for (uint32_t r = 0; r < machine.ranks_.size(); ++r) {
    machine.ranks_[r].reduce_gbps = topology.device_of(Rank{r}).reduce_gbps;
  }
  TUTTI_TRY(machine.take_options(topology, options));
  TUTTI_TRY(machine.find_routes(schedule, topology));
  return machine;
}

Status Machine::take_options(const topo::Topology& topology, const Options& options) {
  const auto check_rank = [&](Rank rank, const char* what) -> Status {
    if (rank.value < ranks_.size()) return {};
    return invalid(
        fmt::format("{} names rank {}, but the schedule has {}", what, rank.value, ranks_.size()));
  };
  if (!is_time(options.step_overhead_ns)) return invalid("the step overhead must be 0 ns or more");
  if (!is_time(options.copy_gbps)) return invalid("the copy rate must be 0 (free) or more");
  step_overhead_ns_ = options.step_overhead_ns;
  copy_gbps_ = options.copy_gbps;
  for (const StartSkew& skew : options.start_skew) {
    TUTTI_TRY(check_rank(skew.rank, "a start skew"));
    if (!is_time(skew.ns)) {
      return invalid(fmt::format("the skew of rank {} must be 0 ns or more", skew.rank.value));
    }
    ranks_[skew.rank.value].start_ns = skew.ns;
  }
  for (const SlowRank& slow : options.slow_ranks) {
    TUTTI_TRY(check_rank(slow.rank, "a slow rank"));
    if (!is_factor(slow.factor)) {
      return invalid(fmt::format("rank {} must be slowed by 1 or more", slow.rank.value));
    }
    ranks_[slow.rank.value].slowness = slow.factor;
  }
  for (const topo::Link& link : topology.links) link_gbps_.push_back(link.gbps);
  for (const SlowLink& slow : options.slow_links) {
    if (slow.link.value >= link_gbps_.size()) {
      return invalid(fmt::format("link {} is to be slowed, but topology '{}' has {}",
                                 slow.link.value, topology.name, link_gbps_.size()));
    }
    if (!is_factor(slow.factor)) {
      return invalid(fmt::format("link {} must be slowed by 1 or more", slow.link.value));
    }
    link_gbps_[slow.link.value] = topology.links[slow.link.value].gbps / slow.factor;
  }
  return {};
}

Status Machine::find_routes(const ir::Schedule& schedule, const topo::Topology& topology) {
  topo::Router router(topology);
  PeerCollector collector(schedule.ranks.size());
  for (uint32_t r = 0; r < schedule.ranks.size(); ++r) {
    const std::vector<uint32_t>& peers = collector.peers_of(r, schedule.ranks[r]);
    ranks_[r].first_route = static_cast<uint32_t>(routes_.size());
    ranks_[r].num_routes = static_cast<uint32_t>(peers.size());
    for (const uint32_t peer : peers) {
      TUTTI_ASSIGN(const auto links, router.route(Rank{r}, Rank{peer}));
      Route route{.first_link = static_cast<uint32_t>(route_links_.size()),
                  .num_links = static_cast<uint32_t>(links.size())};
      double bottleneck = kUnlimited;
      for (const topo::LinkId link : links) {
        route.latency_ns += topology.links[link.value].latency_ns;
        bottleneck = std::min(bottleneck, link_gbps_[link.value]);
      }
      const double slowness = std::max(ranks_[r].slowness, ranks_[peer].slowness);
      route.cap_gbps = slowness > 1 ? bottleneck / slowness : kUnlimited;
      route_peers_.push_back(peer);
      routes_.push_back(route);
      route_links_.insert(route_links_.end(), links.begin(), links.end());
    }
  }
  return {};
}

std::vector<bool> Machine::binding_links() const {
  BindingLinks binding(link_gbps_);
  for (const Route& route : routes_) binding.add_route(links(route));
  return binding.find();
}

const Route& Machine::route(Rank from, Rank to) const {
  const RankCosts& rank = ranks_[from.value];
  const auto first = route_peers_.begin() + rank.first_route;
  const auto found = std::lower_bound(first, first + rank.num_routes, to.value);
  TUTTI_CHECK(found != first + rank.num_routes && *found == to.value,
              "routes were found for all pairs that talk");
  return routes_[static_cast<size_t>(found - route_peers_.begin())];
}

double Machine::reduce_cap_gbps(Rank rank) const {
  const RankCosts& costs = ranks_[rank.value];
  return costs.reduce_gbps == 0 ? kUnlimited : costs.reduce_gbps / costs.slowness;
}

}  // namespace tutti::sim
