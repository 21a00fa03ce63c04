#include "sim/binding.h"

#include <algorithm>

namespace tutti::sim {
namespace {

// Rates such as a third of 100 add up to a little more.
constexpr double kSameSum = 1e-12;

constexpr size_t kNowhere = SIZE_MAX;

// The place of the narrower link that is nearest to the i-th: what is fed from there as a rule.
size_t nearest_narrower(std::span<const topo::LinkId> route, size_t i,
                        const std::vector<double>& gbps) {
  for (size_t away = 1; away < route.size(); ++away) {
    for (const size_t j : {i + away, i - away}) {  // one before the first is far behind the last
      if (j < route.size() && gbps[route[j].value] < gbps[route[i].value]) return j;
    }
  }
  return kNowhere;
}

}  // namespace

// A guard is narrower than what it guards, so whoever guards whom, at the end are links that bind.
// Each crossing of a guarded link is a crossing of its guard, which a route that takes a link twice
// could count as one.
void BindingLinks::add_route(std::span<const topo::LinkId> route) {
  for (size_t i = 0; i < route.size(); ++i) {
    if (binds_[route[i].value]) continue;
    const size_t narrower = nearest_narrower(route, i, gbps_);
    if (narrower == kNowhere || std::count(route.begin(), route.end(), route[i]) > 1) {
      binds_[route[i].value] = true;
    } else {
      guard(route[i].value, route[narrower].value);
    }
  }
}

void BindingLinks::guard(uint32_t link, uint32_t by) {
  Guards& guards = guards_[link];
  if (std::find(guards.links.begin(), guards.links.end(), by) != guards.links.end()) return;
  guards.links.push_back(by);
  guards.gbps += gbps_[by];
  if (guards.gbps > gbps_[link] * (1 + kSameSum)) binds_[link] = true;
}

}  // namespace tutti::sim
