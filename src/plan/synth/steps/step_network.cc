#include "plan/synth/steps/step_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/try.h"
#include "plan/packing/graph.h"
#include "topo/router.h"

namespace tutti::plan::steps {
namespace {

// Rates that differ by less count as equal.
constexpr double kEqualRates = 1e-6;

void index_hops(StepNetwork& network) {
  network.out.assign(network.num_ranks, {});
  network.in.assign(network.num_ranks, {});
  for (uint32_t h = 0; h < network.hops.size(); ++h) {
    network.out[network.hops[h].from].push_back(h);
    network.in[network.hops[h].to].push_back(h);
  }
}

// Numbers the links and nodes of routes as they come.
class NetworkMaker {
 public:
  NetworkMaker(const topo::Topology& topology, const packing::Fabric& fabric)
      : topology_(topology), fabric_(fabric), link_(topology.links.size(), UINT32_MAX) {
    network_.num_ranks = topology.num_ranks();
    node_.assign(topology.nodes.size(), UINT32_MAX);
    for (const topo::NodeId device : topology.ranks) {
      node_[device.value] = network_.num_nodes++;
    }
  }

  StepNetwork make() {
    topo::Router router(topology_);
    for (uint32_t a = 0; a < network_.num_ranks; ++a) {
      for (uint32_t b = 0; b < network_.num_ranks; ++b) {
        if (a == b) continue;
        if (const auto route = router.route(Rank{a}, Rank{b})) add_hop(a, b, *route);
      }
    }
    set_capacities();
    index_hops(network_);
    return std::move(network_);
  }

 private:
  void add_hop(uint32_t from, uint32_t to, std::span<const topo::LinkId> route) {
    const auto is_used = [&](topo::LinkId link) { return fabric_.is_used[link.value]; };
    if (!std::all_of(route.begin(), route.end(), is_used)) return;
    StepHop hop{from, to};
    for (const topo::LinkId link : route) hop.links.push_back(number_of(link));
    network_.hops.push_back(std::move(hop));
  }

  uint32_t number_of(topo::LinkId id) {
    uint32_t& number = link_[id.value];
    if (number != UINT32_MAX) return number;
    number = static_cast<uint32_t>(network_.links.size());
    const topo::Link& link = topology_.links[id.value];
    network_.links.push_back({node_number(link.from), node_number(link.to)});
    gbps_.push_back(link.gbps);
    return number;
  }
  uint32_t node_number(topo::NodeId node) {
    uint32_t& number = node_[node.value];
    if (number == UINT32_MAX) number = network_.num_nodes++;
    return number;
  }

  void set_capacities() {
    if (gbps_.empty()) return;
    network_.round_gbps = *std::min_element(gbps_.begin(), gbps_.end());
    for (size_t l = 0; l < gbps_.size(); ++l) {
      network_.links[l].capacity =
          static_cast<uint32_t>(gbps_[l] / network_.round_gbps * (1 + kEqualRates));
    }
  }

  const topo::Topology& topology_;
  const packing::Fabric& fabric_;
  std::vector<uint32_t> link_;  // by topo::LinkId
  std::vector<uint32_t> node_;  // by topo::NodeId
  std::vector<double> gbps_;
  StepNetwork network_;
};

}  // namespace

std::vector<uint32_t> StepNetwork::distances() const {
  std::vector<uint32_t> distance(size_t{num_ranks} * num_ranks, UINT32_MAX);
  for (uint32_t from = 0; from < num_ranks; ++from) {
    uint32_t* const row = distance.data() + size_t{from} * num_ranks;
    std::vector<uint32_t> reached = {from};
    row[from] = 0;
    for (size_t i = 0; i < reached.size(); ++i) {
      for (const uint32_t h : out[reached[i]]) {
        if (row[hops[h].to] != UINT32_MAX) continue;
        row[hops[h].to] = row[reached[i]] + 1;
        reached.push_back(hops[h].to);
      }
    }
  }
  return distance;
}

Result<StepNetwork> step_network(const topo::Topology& topology) {
  if (topology.num_ranks() > kMaxStepRanks) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("steps are searched for up to {} ranks, and {} has {}; --algo quick "
                             "and greedy take more",
                             kMaxStepRanks, topology.name, topology.num_ranks())};
  }
  TUTTI_ASSIGN(const packing::Fabric fabric, packing::fabric_of(topology));
  StepNetwork network = NetworkMaker(topology, fabric).make();
  const std::vector<uint32_t> distance = network.distances();
  if (std::find(distance.begin(), distance.end(), UINT32_MAX) != distance.end()) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("the routes between ranks of {} do not join all of them; --algo "
                             "packed finds other ways",
                             topology.name)};
  }
  return network;
}

StepNetwork reversed(const StepNetwork& network) {
  StepNetwork back = network;
  for (StepHop& hop : back.hops) {
    std::swap(hop.from, hop.to);
    std::reverse(hop.links.begin(), hop.links.end());
  }
  for (StepLink& link : back.links) std::swap(link.from, link.to);
  index_hops(back);
  return back;
}

}  // namespace tutti::plan::steps
