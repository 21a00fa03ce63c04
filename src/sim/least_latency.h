// The least latency between one node and all others, over any links: a lower bound for whatever
// way the data takes, relays included. Dijkstra's algorithm.
#pragma once

#include <cstdint>
#include <vector>

#include "topo/topology.h"

namespace tutti::sim {

class LeastLatency {
 public:
  enum class Way : uint8_t { kFrom, kTo };

  // The topology must outlive this.
  LeastLatency(const topo::Topology& topology, Way way);

  // By node, ns; infinite where nothing leads. Valid until the next call.
  const std::vector<double>& of(topo::NodeId start);

 private:
  struct Arc {
    uint32_t node;
    double latency_ns;
  };
  struct Reached {
    double latency_ns;
    uint32_t node;
    friend bool operator>(const Reached& a, const Reached& b) {
      return a.latency_ns > b.latency_ns;
    }
  };

  std::vector<uint32_t> first_;  // arcs of node n: arcs_[first_[n]] .. arcs_[first_[n + 1]]
  std::vector<Arc> arcs_;
  std::vector<double> latency_ns_;
  std::vector<Reached> heap_;
};

}  // namespace tutti::sim
