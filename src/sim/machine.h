// The topology as the options leave it: rates of slowed links, what a slow rank's work costs, and
// the way of every message that the schedule can send.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "ir/schedule.h"
#include "sim/options.h"
#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::sim {

struct Route {
  uint32_t first_link = 0;  // in the machine's list of all routes' links
  uint32_t num_links = 0;
  double latency_ns = 0;
  double cap_gbps = 0;  // kUnlimited, unless an end is a slow rank
};

class Machine {
 public:
  // kInvalidArgument for a schedule with more ranks than the topology and for options that cannot
  // be; the router's error for ranks that must talk and cannot. The schedule has a good shape.
  static Result<Machine> create(const ir::Schedule& schedule, const topo::Topology& topology,
                                const Options& options);

  [[nodiscard]] const std::vector<double>& link_gbps() const { return link_gbps_; }
  // By link: whether it can hold back messages of this schedule (sim/binding.h).
  [[nodiscard]] std::vector<bool> binding_links() const;
  // The schedule must have a step that sends from the one to the other.
  [[nodiscard]] const Route& route(Rank from, Rank to) const;
  [[nodiscard]] std::span<const topo::LinkId> links(const Route& route) const {
    return std::span(route_links_).subspan(route.first_link, route.num_links);
  }

  [[nodiscard]] double start_ns(Rank rank) const { return ranks_[rank.value].start_ns; }
  [[nodiscard]] double step_overhead_ns(Rank rank) const {
    return step_overhead_ns_ * ranks_[rank.value].slowness;
  }
  [[nodiscard]] double copy_ns(Rank rank, double bytes) const {
    return copy_gbps_ == 0 ? 0 : bytes / copy_gbps_ * ranks_[rank.value].slowness;
  }
  [[nodiscard]] double reduce_ns(Rank rank, double bytes) const {
    const RankCosts& costs = ranks_[rank.value];
    return costs.reduce_gbps == 0 ? 0 : bytes / costs.reduce_gbps * costs.slowness;
  }
  // How fast data can pass through a reduction of this rank.
  [[nodiscard]] double reduce_cap_gbps(Rank rank) const;

 private:
  struct RankCosts {
    double start_ns = 0;
    double slowness = 1;
    double reduce_gbps = 0;
    uint32_t first_route = 0;  // of the routes from this rank, sorted by peer
    uint32_t num_routes = 0;
  };

  Machine() = default;
  Status take_options(const topo::Topology& topology, const Options& options);
  Status find_routes(const ir::Schedule& schedule, const topo::Topology& topology);

  std::vector<double> link_gbps_;
  std::vector<RankCosts> ranks_;
  std::vector<uint32_t> route_peers_;
  std::vector<Route> routes_;
  std::vector<topo::LinkId> route_links_;
  double step_overhead_ns_ = 0;
  double copy_gbps_ = 0;
};

}  // namespace tutti::sim
