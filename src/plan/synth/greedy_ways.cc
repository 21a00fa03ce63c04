#include "plan/synth/greedy_ways.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "plan/synth/greedy_clock.h"

namespace tutti::plan::synth {
namespace {

constexpr float kUnreached = std::numeric_limits<float>::infinity();
// Hops that are looked at for all pairs of ranks together; some ten seconds.
constexpr uint64_t kMaxLooks = 2'000'000'000;

}  // namespace

WaysToGo::WaysToGo(const Network& network, double chunk_bytes)
    : network_(network),
      least_cost_ns_(kUnreached),
      ns_(size_t{network.num_ranks} * network.num_ranks, kUnreached) {
  cost_ns_.reserve(network.hops.size());
  for (const Hop& hop : network.hops) {
    const int64_t ps = hop.latency_ps + transfer_ps(chunk_bytes, hop.kb_per_s);
    cost_ns_.push_back(static_cast<float>(ps) * 1e-3F);
    least_cost_ns_ = std::min(least_cost_ns_, cost_ns_.back());
  }
  if (network.hops.size() * network.num_ranks > kMaxLooks) quickest_.resize(ns_.size());
  find_incoming();
}

void WaysToGo::find_incoming() {
  first_in_.assign(num_ranks() + 1, 0);
  for (const Hop& hop : network_.hops) ++first_in_[hop.to + 1];
  for (uint32_t r = 0; r < num_ranks(); ++r) first_in_[r + 1] += first_in_[r];
  hops_in_.resize(network_.hops.size());
  std::vector<uint32_t> next(first_in_.begin(), first_in_.end() - 1);
  for (uint32_t h = 0; h < network_.hops.size(); ++h) hops_in_[next[network_.hops[h].to]++] = h;
}

bool WaysToGo::find_all(const GreedyProgress& progress) {
  for (uint32_t to = 0; to < num_ranks(); ++to) {
    search(to);
    if (progress && to % 64 == 0 && !progress(0)) return false;
  }
  return true;
}

// Dijkstra's algorithm against the direction of the hops. It ends when nobody can be improved any
// more: around a switch that is at once.
void WaysToGo::search(uint32_t to) {
  const float* const ns = ns_.data() + size_t{to} * num_ranks();
  ns_[size_t{to} * num_ranks() + to] = 0;
  heap_.push_back({0, 0, to});
  num_unreached_ = num_ranks() - 1;
  farthest_ns_ = 0;
  while (!heap_.empty()) {
    const Found at = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
    if (at.ns > ns[at.rank]) continue;
    num_hops_ += at.num_hops;
    if (num_unreached_ == 0 && at.ns + least_cost_ns_ >= farthest_ns_) continue;
    visit(at, to);
  }
}

void WaysToGo::visit(const Found& at, uint32_t to) {
  for (uint32_t i = first_in_[at.rank]; i < first_in_[at.rank + 1]; ++i) {
    const uint32_t h = hops_in_[i];
    const uint32_t rank = network_.hops[h].from;
    const size_t place = size_t{to} * num_ranks() + rank;
    const float through = at.ns + cost_ns_[h];
    if (through >= ns_[place]) continue;
    if (ns_[place] == kUnreached) --num_unreached_;
    ns_[place] = through;
    if (!quickest_.empty()) {
      quickest_[place] = static_cast<uint16_t>(h - network_.first_out[rank]);
    }
    farthest_ns_ = std::max(farthest_ns_, through);
    heap_.push_back({through, at.num_hops + 1, rank});
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
}

}  // namespace tutti::plan::synth
