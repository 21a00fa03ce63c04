// The way of a message through the topology: the links between two ranks' devices.
//
// A route never passes through a device. Among the possible ones it takes the widest at the
// bottleneck among those with the fewest links, then the one of least latency, then of least node
// numbers, so that routes are a function of the topology alone. Routes are found on demand and
// kept.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::topo {

class Router {
 public:
  // The topology must pass topo::check and outlive the router. Not thread-safe.
  explicit Router(const Topology& topology);

  // The links from one rank's device to another's, in order; empty when both ranks share a device.
  // kNotFound naming both ranks when no route exists. Valid as long as the router.
  [[nodiscard]] Result<std::span<const LinkId>> route(Rank from, Rank to);

 private:
  const Topology& topology_;
  std::vector<uint32_t> first_out_;  // links sorted by their `from`: where each node's begin
  std::vector<LinkId> out_links_;
  std::unordered_map<uint64_t, std::vector<LinkId>> routes_;
};

}  // namespace tutti::topo
