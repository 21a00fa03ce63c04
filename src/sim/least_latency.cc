#include "sim/least_latency.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace tutti::sim {

LeastLatency::LeastLatency(const topo::Topology& topology, Way way)
    : first_(topology.nodes.size() + 1, 0), arcs_(topology.links.size()) {
  const auto start_of = [&](const topo::Link& link) {
    return way == Way::kFrom ? link.from.value : link.to.value;
  };
  for (const topo::Link& link : topology.links) ++first_[start_of(link) + 1];
  for (size_t n = 1; n < first_.size(); ++n) first_[n] += first_[n - 1];
  std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
  for (const topo::Link& link : topology.links) {
    const uint32_t end = way == Way::kFrom ? link.to.value : link.from.value;
    arcs_[next[start_of(link)]++] = {end, link.latency_ns};
  }
}

const std::vector<double>& LeastLatency::of(topo::NodeId start) {
  latency_ns_.assign(first_.size() - 1, std::numeric_limits<double>::infinity());
  latency_ns_[start.value] = 0;
  heap_.assign(1, {0, start.value});
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
    const Reached top = heap_.back();
    heap_.pop_back();
    if (top.latency_ns > latency_ns_[top.node]) continue;
    for (uint32_t a = first_[top.node]; a < first_[top.node + 1]; ++a) {
      const double latency_ns = top.latency_ns + arcs_[a].latency_ns;
      if (latency_ns >= latency_ns_[arcs_[a].node]) continue;
      latency_ns_[arcs_[a].node] = latency_ns;
      heap_.push_back({latency_ns, arcs_[a].node});
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
    }
  }
  return latency_ns_;
}

}  // namespace tutti::sim
