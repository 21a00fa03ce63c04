#include "plan/synth/steps/step_bounds.h"

#include <algorithm>
#include <numeric>

#include "plan/packing/flow.h"

namespace tutti::plan::steps {
namespace {

using packing::Flow;

// The network laid out for every step: a rank has a place before each step and one at the end, and
// keeps what it has; what only forwards has one in each step.
class Layers {
 public:
  Layers(const StepNetwork& network, const StepDemand& demand, const Rounds& rounds)
      : network_(network),
        source_(network.num_nodes * static_cast<uint32_t>(rounds.size() + 1)),
        flow_(source_ + 1) {
    const auto num_steps = static_cast<uint32_t>(rounds.size());
    for (const uint32_t owner : demand.owners) flow_.add(source_, place(owner, 0), demand.chunks);
    for (uint32_t s = 0; s < num_steps; ++s) {
      for (uint32_t r = 0; r < network.num_ranks; ++r) {
        flow_.add(place(r, s), place(r, s + 1), demand.num_chunks());
      }
      for (const StepLink& link : network.links) {
        const uint32_t before = link.from < network.num_ranks ? s : s + 1;
        flow_.add(place(link.from, before), place(link.to, s + 1),
                  int64_t{link.capacity} * rounds[s]);
      }
    }
    last_ = num_steps;
  }

  // What can be at the rank in the end.
  int64_t into(uint32_t rank) { return flow_.run(source_, place(rank, last_)); }

 private:
  [[nodiscard]] uint32_t place(uint32_t node, uint32_t step) const {
    return step * network_.num_nodes + node;
  }

  const StepNetwork& network_;
  uint32_t source_;
  Flow flow_;
  uint32_t last_ = 0;
};

// In one step everything goes straight from who has it to who needs it.
bool straight_may(const StepNetwork& network, const StepDemand& demand, uint32_t rounds) {
  if (farthest_pair(network, demand).num_hops > 1) return false;
  const bool is_spread = demand.kind == StepDemand::Kind::kSpread;
  const auto has_some = [&](uint32_t rank) {
    return !is_spread || std::count(demand.owners.begin(), demand.owners.end(), rank) > 0;
  };
  std::vector<uint64_t> load(network.links.size(), 0);
  for (const StepHop& hop : network.hops) {
    for (const uint32_t link : hop.links) load[link] += has_some(hop.from) ? demand.chunks : 0;
  }
  for (size_t l = 0; l < load.size(); ++l) {
    if (load[l] > uint64_t{network.links[l].capacity} * rounds) return false;
  }
  return true;
}

bool spread_may(const StepNetwork& network, const StepDemand& demand, const Rounds& rounds) {
  Layers layers(network, demand, rounds);
  for (uint32_t r = 0; r < network.num_ranks; ++r) {
    if (layers.into(r) < demand.num_chunks()) return false;
  }
  return true;
}

// What can leave a set of ranks in one round: with all that forwards counted to the set, or to the
// rest, whichever is less. No more can, wherever one draws the line.
uint64_t leaving(const StepNetwork& network, uint32_t set) {
  uint64_t with = 0;
  uint64_t without = 0;
  const auto is_in = [&](uint32_t node, bool forwards_inside) {
    return node < network.num_ranks ? (set >> node & 1) != 0 : forwards_inside;
  };
  for (const StepLink& link : network.links) {
    if (is_in(link.from, true) && !is_in(link.to, true)) with += link.capacity;
    if (is_in(link.from, false) && !is_in(link.to, false)) without += link.capacity;
  }
  return std::min(with, without);
}

// Rounds in all; the order of steps does not matter to these bounds.
bool exchange_may(const StepNetwork& network, const StepDemand& demand, const Rounds& rounds) {
  const uint64_t total = std::accumulate(rounds.begin(), rounds.end(), uint64_t{0});
  const uint32_t p = network.num_ranks;
  uint64_t hops = 0;
  for (const uint32_t distance : network.distances()) hops += distance;
  uint64_t capacity = 0;
  for (const StepLink& link : network.links) capacity += link.capacity;
  if (hops * demand.chunks > capacity * total) return false;
  for (uint32_t set = 1; set + 1 < 1u << p; ++set) {
    const auto inside = static_cast<uint64_t>(__builtin_popcount(set));
    if (inside * (p - inside) * demand.chunks > leaving(network, set) * total) return false;
  }
  return true;
}

uint32_t unevenness(const Rounds& rounds) {
  uint32_t squares = 0;
  for (const uint32_t r : rounds) squares += r * r;
  return squares;
}

// Beyond this many ways to share rounds out only the evenest are looked at.
constexpr uint64_t kMaxWays = 1000;

uint64_t num_ways(uint32_t num_steps, uint32_t total) {
  uint64_t ways = 1;  // total - 1 over num_steps - 1
  for (uint32_t i = 1; i < num_steps && ways <= kMaxWays; ++i) ways = ways * (total - i) / i;
  return ways;
}

void share_out(uint32_t num_steps, uint32_t left, Rounds& begun, std::vector<Rounds>& all) {
  if (num_steps == 1) {
    begun.push_back(left);
    all.push_back(begun);
    begun.pop_back();
    return;
  }
  for (uint32_t r = 1; r + (num_steps - 1) <= left; ++r) {
    begun.push_back(r);
    share_out(num_steps - 1, left - r, begun, all);
    begun.pop_back();
  }
}

// As even as can be, and the same with rounds of one step given to another.
std::vector<Rounds> even_shares(uint32_t num_steps, uint32_t total) {
  Rounds even(num_steps, total / num_steps);
  for (uint32_t s = 0; s < total % num_steps; ++s) ++even[s];
  std::vector<Rounds> all = {even};
  for (uint32_t given = 1; given < even.back(); given *= 2) {
    for (uint32_t from = 0; from < num_steps; ++from) {
      for (uint32_t to = 0; to < num_steps; ++to) {
        if (from == to) continue;
        all.push_back(even);
        all.back()[from] -= given;
        all.back()[to] += given;
      }
    }
  }
  return all;
}

}  // namespace

FarthestPair farthest_pair(const StepNetwork& network, const StepDemand& demand) {
  const std::vector<uint32_t> distance = network.distances();
  const uint32_t p = network.num_ranks;
  FarthestPair farthest;
  for (uint32_t from = 0; from < p; ++from) {
    const bool has_some = demand.kind == StepDemand::Kind::kExchange ||
                          std::count(demand.owners.begin(), demand.owners.end(), from) > 0;
    for (uint32_t to = 0; has_some && to < p; ++to) {
      const uint32_t hops = distance[size_t{from} * p + to];
      if (hops > farthest.num_hops) farthest = {from, to, hops};
    }
  }
  return farthest;
}

bool may_suffice(const StepNetwork& network, const StepDemand& demand, const Rounds& rounds) {
  if (rounds.size() == 1) return straight_may(network, demand, rounds.front());
  return demand.kind == StepDemand::Kind::kSpread ? spread_may(network, demand, rounds)
                                                  : exchange_may(network, demand, rounds);
}

std::vector<Rounds> ways_to_share(uint32_t num_steps, uint32_t total) {
  std::vector<Rounds> all;
  Rounds begun;
  if (num_steps == 0 || total < num_steps) return all;
  if (num_ways(num_steps, total) > kMaxWays) return even_shares(num_steps, total);
  share_out(num_steps, total, begun, all);
  std::stable_sort(all.begin(), all.end(),
                   [](const Rounds& a, const Rounds& b) { return unevenness(a) < unevenness(b); });
  return all;
}

uint32_t least_rounds(const StepNetwork& network, const StepDemand& demand, uint32_t num_steps,
                      uint32_t most) {
  for (uint32_t total = num_steps; total < most; ++total) {
    std::vector<Rounds> ways = ways_to_share(num_steps, total);
    if (demand.kind == StepDemand::Kind::kExchange) {
      ways.resize(1);  // to its bounds all are alike
    } else if (!may_suffice(network, demand, Rounds(num_steps, total - num_steps + 1))) {
      continue;  // not even if every step were as long as one of them can be
    }
    const bool knows_all = num_ways(num_steps, total) <= kMaxWays;
    const bool may = !knows_all || std::any_of(ways.begin(), ways.end(), [&](const Rounds& rounds) {
      return may_suffice(network, demand, rounds);
    });
    if (may) return total;
  }
  return most;
}

}  // namespace tutti::plan::steps
