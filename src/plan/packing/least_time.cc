// The least time by a cut. As long as less has crossed it than must, there is a byte of which
// nothing has: it crosses later, and then still has the way to the rank that is farthest behind the
// cut. For sums, the same in a time that runs backwards: the byte that crosses last of all had the
// farthest rank's part added to it before.
#include <algorithm>
#include <limits>
#include <vector>

#include "plan/packing/certificate.h"
#include "topo/router.h"

namespace tutti::plan::packing {
namespace {

constexpr double kFarAway = std::numeric_limits<double>::infinity();

// Latency of the message from rank to rank on links that the packing may use; kFarAway where it
// takes others.
class Latencies {
 public:
  Latencies(const topo::Topology& topology, const Fabric& fabric)
      : num_ranks_(topology.num_ranks()), ns_(size_t{num_ranks_} * num_ranks_, kFarAway) {
    topo::Router router(topology);
    for (uint32_t from = 0; from < num_ranks_; ++from) {
      for (uint32_t to = 0; to < num_ranks_; ++to) {
        const auto route = router.route(Rank{from}, Rank{to});
        if (!route || route->empty()) continue;
        double sum = 0;
        for (const topo::LinkId link : *route) {
          sum += fabric.is_used[link.value] ? topology.links[link.value].latency_ns : kFarAway;
        }
        ns_[size_t{from} * num_ranks_ + to] = sum;
      }
    }
  }
  [[nodiscard]] uint32_t num_ranks() const { return num_ranks_; }
  [[nodiscard]] double ns(uint32_t from, uint32_t to) const {
    return ns_[size_t{from} * num_ranks_ + to];
  }

 private:
  uint32_t num_ranks_;
  std::vector<double> ns_;
};

enum class Look : uint8_t { kAhead, kBack };

// From the near ranks to the farthest of the others, ranks passing on; or from it to them.
double farthest_ns(const Latencies& latencies, const std::vector<bool>& is_near, Look look) {
  const uint32_t p = latencies.num_ranks();
  std::vector<double> distance(p);
  for (uint32_t r = 0; r < p; ++r) distance[r] = is_near[r] ? 0 : kFarAway;
  std::vector<bool> is_settled(p, false);
  double farthest = 0;
  for (uint32_t i = 0; i < p; ++i) {
    uint32_t next = p;
    for (uint32_t r = 0; r < p; ++r) {
      if (!is_settled[r] && (next == p || distance[r] < distance[next])) next = r;
    }
    if (distance[next] == kFarAway) break;
    is_settled[next] = true;
    farthest = distance[next];
    for (uint32_t r = 0; r < p; ++r) {
      const double hop = look == Look::kAhead ? latencies.ns(next, r) : latencies.ns(r, next);
      distance[r] = std::min(distance[r], distance[next] + hop);
    }
  }
  return farthest;
}

}  // namespace

double least_ns(const topo::Topology& topology, const Packing& packing, uint64_t bytes) {
  if (packing.bound.groups.empty()) return 0;
  const double carried_ns = static_cast<double>(bytes) / packing.bound_gbps;
  // Of several groups, or messages that arrive, no one cut is the last to be crossed.
  if (packing.bound.is_by_arrivals || packing.bound.groups.size() > 1) return carried_ns;
  std::vector<bool> is_inside(topology.num_ranks(), false);
  for (const uint32_t node : packing.bound.groups.front()) {
    if (node < topology.num_ranks()) is_inside[node] = true;
  }
  const Latencies latencies(topology, packing.fabric);
  const Look look = packing.bound.is_entering ? Look::kBack : Look::kAhead;
  return carried_ns + farthest_ns(latencies, is_inside, look);
}

}  // namespace tutti::plan::packing
