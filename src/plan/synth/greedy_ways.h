// How far every rank is from every other, in time, and which hops lead nearer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/synth/greedy_network.h"
#include "plan/synth/greedy_transfers.h"

namespace tutti::plan::synth {

class WaysToGo {
 public:
  WaysToGo(const Network& network, double chunk_bytes);

  // Stops when `progress` says so; then false.
  [[nodiscard]] bool find_all(const GreedyProgress& progress);

  // The least time from one rank to another, in ns, if links were empty.
  [[nodiscard]] float ns(uint32_t from, uint32_t to) const {
    return ns_[size_t{to} * num_ranks() + from];
  }
  // Of all pairs together, if each takes its quickest way.
  [[nodiscard]] uint64_t num_hops() const { return num_hops_; }

  // Calls consider(hop) for hops out of `from` that lead nearer to `to`: for all of them, or where
  // so many ranks have so many neighbours that this would take hours, for one on a quickest way.
  template <class Consider>
  void each_hop_nearer(uint32_t from, uint32_t to, Consider consider) const {
    if (!quickest_.empty()) {
      return consider(network_.first_out[from] + quickest_[size_t{to} * num_ranks() + from]);
    }
    const float to_go_ns = ns(from, to);
    for (uint32_t h = network_.first_out[from]; h < network_.first_out[from + 1]; ++h) {
      if (ns(network_.hops[h].to, to) < to_go_ns) consider(h);
    }
  }

 private:
  struct Found {
    float ns;
    uint32_t num_hops;
    uint32_t rank;
    bool operator>(const Found& other) const { return ns > other.ns; }
  };

  [[nodiscard]] uint32_t num_ranks() const { return network_.num_ranks; }
  void find_incoming();
  void search(uint32_t to);
  void visit(const Found& at, uint32_t to);

  const Network& network_;
  std::vector<uint32_t> first_in_;  // into hops_in_, by rank
  std::vector<uint32_t> hops_in_;
  std::vector<float> cost_ns_;  // by hop
  float least_cost_ns_;
  std::vector<float> ns_;           // by destination and rank
  std::vector<uint16_t> quickest_;  // likewise: of the hop among those out of its rank
  uint64_t num_hops_ = 0;

  // Of the search under way.
  std::vector<Found> heap_;
  uint32_t num_unreached_ = 0;
  float farthest_ns_ = 0;
};

}  // namespace tutti::plan::synth
