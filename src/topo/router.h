// The way of a message through the topology: the links between two ranks' devices.
// Routes are a function of the topology alone. They are found on demand and kept.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::topo {

class RouteSearch;

// A route never passes through a device, nor through a machine that holds ranks but neither of the
// two: servers do not forward. It has the fewest links possible; among such it is the widest at its
// bottleneck, then the one of least latency. Where several links would continue an equally good
// route (parallel spines, two NICs), they are sorted by the node they lead to, and destination rank
// r takes the one at place r mod their count: destinations spread over parallel switches.
class Router {
 public:
  // The topology must pass topo::check and outlive the router. Not thread-safe.
  explicit Router(const Topology& topology);
  ~Router();

  // The links from one rank's device to another's, in order; empty when both ranks share a device.
  // kInvalidArgument for a rank that the topology does not have, kNotFound naming both ranks when
  // no route exists. Valid as long as the router.
  [[nodiscard]] Result<std::span<const LinkId>> route(Rank from, Rank to);

 private:
  const Topology& topology_;
  std::unique_ptr<RouteSearch> search_;
  std::unordered_map<uint64_t, std::vector<LinkId>> routes_;  // an empty one: there is none
};

}  // namespace tutti::topo
