#include "plan/packing/all_to_all_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <vector>

namespace tutti::plan::packing {
namespace {

// Visits of links by all searches together; a second or two.
constexpr double kMaxVisits = 2e7;
constexpr int kMaxRounds = 200;
constexpr double kGrowth = 0.2;
// What the first round finds nearly idle counts for little at once: large topologies have few
// rounds.
constexpr double kNearlyIdle = 0.25;
constexpr double kLittle = 1e-3;
constexpr double kFarAway = std::numeric_limits<double>::infinity();

class LengthSearch {
 public:
  explicit LengthSearch(const topo::Topology& topology)
      : topology_(topology),
        out_(topology.nodes.size()),
        passes_(topology.nodes.size()),
        length_(topology.links.size()),
        load_(topology.links.size()) {
    for (uint32_t l = 0; l < topology.links.size(); ++l) {
      out_[topology.links[l].from.value].push_back(l);
      length_[l] = 1 / topology.links[l].gbps;
    }
    for (uint32_t n = 0; n < topology.nodes.size(); ++n) {
      passes_[n] = topology.nodes[n].kind != topo::NodeKind::kDevice;
    }
    for (const topo::NodeId device : topology.ranks) passes_[device.value] = true;
  }

  // Seconds for a byte from every rank to every other, by the present lengths; notes how much each
  // link carries when all take their shortest way.
  double round() {
    std::fill(load_.begin(), load_.end(), 0.0);
    double travelled = 0;
    for (const topo::NodeId from : topology_.ranks) travelled += search(from);
    double carried = 0;
    for (size_t l = 0; l < length_.size(); ++l) carried += topology_.links[l].gbps * length_[l];
    return travelled / carried;
  }

  // Longer where crowded.
  void adjust(int round) {
    double most = 0;
    for (size_t l = 0; l < load_.size(); ++l) {
      most = std::max(most, load_[l] / topology_.links[l].gbps);
    }
    for (size_t l = 0; l < load_.size(); ++l) {
      const double crowded = load_[l] / topology_.links[l].gbps / most;
      length_[l] *= 1 + kGrowth * crowded;
      if (round == 0 && crowded < kNearlyIdle) length_[l] *= kLittle;
    }
  }

 private:
  double search(topo::NodeId from) {
    distance_.assign(out_.size(), kFarAway);
    last_link_.assign(out_.size(), 0);
    settled_.clear();
    distance_[from.value] = 0;
    heap_.push({0, from.value});
    while (!heap_.empty()) {
      const auto [distance, node] = heap_.top();
      heap_.pop();
      if (distance > distance_[node]) continue;
      settled_.push_back(node);
      if (!passes_[node]) continue;
      for (const uint32_t l : out_[node]) {
        const uint32_t to = topology_.links[l].to.value;
        const double through = distance + length_[l];
        if (through >= distance_[to]) continue;
        distance_[to] = through;
        last_link_[to] = l;
        heap_.push({through, to});
      }
    }
    return add_loads(from);
  }

  // Every rank gets one byte; what a node passes on is what lies behind it on the tree of ways.
  double add_loads(topo::NodeId from) {
    below_.assign(out_.size(), 0.0);
    double travelled = 0;
    for (const topo::NodeId to : topology_.ranks) {
      if (to == from || distance_[to.value] == kFarAway) continue;
      below_[to.value] += 1;
      travelled += distance_[to.value];
    }
    for (auto node = settled_.rbegin(); node != settled_.rend(); ++node) {
      if (*node == from.value) continue;
      const uint32_t link = last_link_[*node];
      load_[link] += below_[*node];
      below_[topology_.links[link].from.value] += below_[*node];
    }
    return travelled;
  }

  struct Reached {
    double distance;
    uint32_t node;
    bool operator>(const Reached& other) const { return distance > other.distance; }
  };

  const topo::Topology& topology_;
  std::vector<std::vector<uint32_t>> out_;  // links by node
  std::vector<bool> passes_;                // by node: what arrives may go on
  std::vector<double> length_;
  std::vector<double> load_;
  std::vector<double> distance_;
  std::vector<double> below_;
  std::vector<uint32_t> last_link_;
  std::vector<uint32_t> settled_;
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> heap_;
};

}  // namespace

AllToAllBound all_to_all_bound(const topo::Topology& topology, uint64_t bytes, int least_rounds) {
  AllToAllBound bound;
  const double visits = static_cast<double>(topology.num_ranks()) *
                        static_cast<double>(topology.links.size() + topology.nodes.size());
  const int in_time = static_cast<int>(std::min<double>(kMaxRounds, kMaxVisits / visits));
  const int num_rounds = std::max(in_time, least_rounds);
  if (topology.num_ranks() < 2 || num_rounds == 0) return bound;
  LengthSearch search(topology);
  double most = 0;
  for (int round = 0; round < num_rounds; ++round) {
    most = std::max(most, search.round());
    search.adjust(round);
  }
  const double block = static_cast<double>(bytes) / topology.num_ranks();
  bound.ns = most * block;
  bound.why = fmt::format(
      "all blocks on their shortest ways, links weighed by how crowded they are, are {:.4g} times "
      "what the links carry in 1 ms",
      bound.ns * 1e-6);
  return bound;
}

}  // namespace tutti::plan::packing
