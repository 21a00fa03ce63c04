// A ring takes an equal rate of every link that its messages cross. For a few such rates (those of
// links and simple fractions of them) rings are put one after the other, each along links that have
// as much left, and what the set carries is counted: the set that carries most wins, with fewer
// rings among equals.
//
// Within a machine a ring is a path that grows rank by rank and goes back where it is stuck. From
// machine to machine it goes in their order, entering and leaving each once; where it crosses is
// chosen first, because NICs are what is short there. On links that are as fast both ways rings are
// also taken in pairs, one each way round: half the search, and the most rings of a DGX-1 are such.
//
// Every ring crosses every cut, so the least cut bounds what all carry together: where that is
// reached the search ends.
#include "plan/packing/rings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "plan/packing/bounds.h"
#include "plan/packing/shares.h"
#include "topo/router.h"

namespace tutti::plan::packing {
namespace {

constexpr uint32_t kMostRingRanks = 256;
constexpr uint32_t kMostRings = 32;
// Steps of one search: a ring of eight GPUs has 5,040 orders.
constexpr uint32_t kRingSearchSteps = 20'000;
constexpr double kRingFractions[] = {1, 2, 3, 4};  // of a link's rate that a ring may take

// The links of each message, by sender and receiver; none where it may not be sent.
struct RingWays {
  uint32_t num_ranks = 0;
  std::vector<std::vector<uint32_t>> links;
  std::vector<double> gbps;  // by link

  [[nodiscard]] const std::vector<uint32_t>& between(uint32_t a, uint32_t b) const {
    return links[size_t{a} * num_ranks + b];
  }
};

RingWays ring_ways(const topo::Topology& topology, const std::vector<bool>& is_used) {
  RingWays ways;
  ways.num_ranks = topology.num_ranks();
  for (const topo::Link& link : topology.links) ways.gbps.push_back(link.gbps);
  topo::Router router(topology);
  for (uint32_t a = 0; a < ways.num_ranks; ++a) {
    for (uint32_t b = 0; b < ways.num_ranks; ++b) {
      std::vector<uint32_t> way;
      const auto route = router.route(Rank{a}, Rank{b});
      for (size_t i = 0; route && i < route->size(); ++i) {
        const uint32_t link = (*route)[i].value;
        way.push_back(link);
        if (!is_used[link]) {
          way.clear();
          break;
        }
      }
      ways.links.push_back(std::move(way));
    }
  }
  return ways;
}

enum class Course : uint8_t { kOneWay, kBothWays };

// What rings carry together when each link is shared evenly among those that cross it.
double rate_of_rings(const RingWays& ways, const std::vector<Ring>& rings) {
  std::map<uint32_t, double> load;
  for (const Ring& ring : rings) {
    for (size_t i = 0; i < ring.size(); ++i) {
      for (const uint32_t link : ways.between(ring[i], ring[(i + 1) % ring.size()]))
        load[link] += 1;
    }
  }
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [link, count] : load) least = std::min(least, ways.gbps[link] / count);
  return rings.empty() ? 0 : least * static_cast<double>(rings.size());
}

// Looks for up to `most` rings that each take `gbps` of every link.
class RingSearch {
 public:
  struct Wanted {
    double gbps = 0;
    Course course = Course::kOneWay;
    size_t most = 0;
  };

  RingSearch(const topo::Topology& topology, const RingWays& ways, const Wanted& wanted)
      : ways_(ways), wanted_(wanted), left_(ways.gbps), is_on_(ways.num_ranks, false) {
    std::map<uint32_t, std::vector<uint32_t>> by_machine;
    for (uint32_t r = 0; r < ways.num_ranks; ++r) {
      by_machine[topology.device_of(Rank{r}).machine].push_back(r);
    }
    for (auto& [machine, ranks] : by_machine) machines_.push_back(std::move(ranks));
  }

  std::vector<Ring> run() && {
    begin_ring();
    return std::move(best_);
  }

 private:
  using Crossing = std::pair<uint32_t, uint32_t>;

  // Every function below returns whether all is done, enough rings or enough tried; if not, it has
  // put everything back.
  bool begin_ring() {
    if (rings_.size() > best_.size()) best_ = rings_;
    if (best_.size() >= wanted_.most) return true;
    if (machines_.size() > 1) return cross(0);
    const uint32_t first = machines_[0][0];
    path_ = {first};
    is_on_[first] = true;
    if (extend(0, first)) return true;
    is_on_[first] = false;
    return false;
  }

  // From machine `from` to the next one. What a rank is for, entry or exit, it is once.
  bool cross(size_t from) {
    if (from == machines_.size()) return enter(0);
    const size_t to = (from + 1) % machines_.size();
    std::vector<std::tuple<size_t, double, uint32_t, uint32_t>> choices;
    for (const uint32_t a : machines_[from]) {
      for (const uint32_t b : machines_[to]) {
        if (is_bad_crossing(from, to, {a, b}) || !has_room(a, b)) continue;
        choices.emplace_back(ways_.between(a, b).size(), -room(a, b), a, b);
      }
    }
    std::sort(choices.begin(), choices.end());
    for (const auto& [length, used, a, b] : choices) {
      if (++num_steps_ > kRingSearchSteps) return true;
      if (!has_room(a, b)) continue;
      take(a, b, 1);
      crossings_.emplace_back(a, b);
      if (cross(from + 1)) return true;
      crossings_.pop_back();
      take(a, b, -1);
    }
    return false;
  }

  [[nodiscard]] bool is_bad_crossing(size_t from, size_t to, Crossing crossing) const {
    const auto clashes = [&](size_t machine, uint32_t entry, uint32_t exit) {
      return (entry == exit) != (machines_[machine].size() == 1);
    };
    if (from > 0 && clashes(from, crossings_[from - 1].second, crossing.first)) return true;
    return to == 0 && clashes(to, crossing.second, crossings_[0].first);
  }

  // Goes through machine `m` from where the ring enters it to where it leaves.
  bool enter(size_t m) {
    if (m == machines_.size()) return close_ring();
    const uint32_t entry = crossings_[(m + machines_.size() - 1) % machines_.size()].second;
    path_.push_back(entry);
    is_on_[entry] = true;
    if (extend(m, crossings_[m].first)) return true;
    is_on_[entry] = false;
    path_.pop_back();
    return false;
  }

  // One rank further; `last` is where the path must end: alone the first, to which it returns.
  bool extend(size_t m, uint32_t last) {
    if (++num_steps_ > kRingSearchSteps) return true;
    const bool is_alone = machines_.size() == 1;
    const uint32_t at = path_.back();
    const size_t num_left = static_cast<size_t>(std::count_if(
        machines_[m].begin(), machines_[m].end(), [&](uint32_t r) { return !is_on_[r]; }));
    if (num_left == 0) {
      if (!is_alone) return enter(m + 1);
      if (!has_room(at, last)) return false;
      take(at, last, 1);
      if (close_ring()) return true;
      take(at, last, -1);
      return false;
    }
    std::vector<std::tuple<size_t, double, uint32_t>> choices;
    for (const uint32_t r : machines_[m]) {
      const bool is_early = !is_alone && r == last && num_left > 1;
      if (is_on_[r] || is_early || !has_room(at, r)) continue;
      choices.emplace_back(ways_.between(at, r).size(), -room(at, r), r);
    }
    std::sort(choices.begin(), choices.end());
    for (const auto& [length, used, r] : choices) {
      take(at, r, 1);
      path_.push_back(r);
      is_on_[r] = true;
      if (extend(m, last)) return true;
      is_on_[r] = false;
      path_.pop_back();
      take(at, r, -1);
    }
    return false;
  }

  bool close_ring() {
    const std::vector<uint32_t> path = path_;
    const std::vector<Crossing> crossings = crossings_;
    const std::vector<bool> is_on = is_on_;
    rings_.push_back(path);
    path_.clear();
    crossings_.clear();
    is_on_.assign(is_on_.size(), false);
    if (begin_ring()) return true;
    rings_.pop_back();
    path_ = path;
    crossings_ = crossings;
    is_on_ = is_on;
    return false;
  }

  [[nodiscard]] double room(uint32_t a, uint32_t b) const {
    double least = std::numeric_limits<double>::infinity();
    for (const uint32_t link : ways_.between(a, b)) least = std::min(least, left_[link]);
    return least;
  }
  [[nodiscard]] bool has_room_one_way(uint32_t a, uint32_t b) const {
    const double needed = wanted_.gbps * (1 - kRounding);
    return !ways_.between(a, b).empty() && room(a, b) >= needed;
  }
  [[nodiscard]] bool has_room(uint32_t a, uint32_t b) const {
    return has_room_one_way(a, b) && (wanted_.course == Course::kOneWay || has_room_one_way(b, a));
  }
  void take(uint32_t a, uint32_t b, int times) {
    for (const uint32_t link : ways_.between(a, b)) left_[link] -= times * wanted_.gbps;
    if (wanted_.course == Course::kOneWay) return;
    for (const uint32_t link : ways_.between(b, a)) left_[link] -= times * wanted_.gbps;
  }

  const RingWays& ways_;
  Wanted wanted_;
  std::vector<std::vector<uint32_t>> machines_;  // their ranks
  std::vector<double> left_;                     // by link
  std::vector<bool> is_on_;                      // by rank: on the ring that is being made
  std::vector<uint32_t> path_;
  std::vector<Crossing> crossings_;  // by machine that is left
  std::vector<Ring> rings_;
  std::vector<Ring> best_;
  uint32_t num_steps_ = 0;
};

// Largest first: few rings are better than many. The last, nothing at all, is for ways so narrow
// that messages of one ring share them.
std::vector<double> ring_rates(const RingWays& ways, LinkSharing sharing) {
  std::set<double, std::greater<>> rates;
  const bool is_whole = sharing == LinkSharing::kWholeLinks;
  for (const auto& way : ways.links) {
    for (const uint32_t link : way) {
      for (const double part : kRingFractions) {
        if (part == 1 || !is_whole) rates.insert(ways.gbps[link] / part);
      }
    }
  }
  if (is_whole) return {*rates.rbegin()};
  std::vector<double> all(rates.begin(), rates.end());
  all.push_back(0);
  return all;
}

double least_cut_gbps(const Graph& graph) {
  std::vector<int64_t> from_first(graph.num_ranks, 0);
  from_first[0] = 1;
  const Fraction rate =
      std::min(least_cut(graph, from_first).rate, least_cut(reversed(graph), from_first).rate);
  return boost::rational_cast<double>(rate) * graph.unit_gbps;
}

void add_other_way_round(std::vector<Ring>& rings) {
  const size_t count = rings.size();
  for (size_t i = 0; i < count; ++i) rings.emplace_back(rings[i].rbegin(), rings[i].rend());
}

Rings best_rings(const topo::Topology& topology, const RingWays& ways, LinkSharing sharing,
                 double bound_gbps) {
  Rings best;
  for (const double gbps : ring_rates(ways, sharing)) {
    for (const Course course : {Course::kOneWay, Course::kBothWays}) {
      const double each = course == Course::kBothWays ? 2 * gbps : gbps;
      const auto most = gbps > 0 ? static_cast<size_t>(std::min<double>(
                                       kMostRings, bound_gbps / each * (1 + kRounding)))
                                 : 1;
      if (most == 0 || (gbps == 0 && !best.rings.empty())) continue;
      std::vector<Ring> found = RingSearch(topology, ways, {gbps, course, most}).run();
      if (course == Course::kBothWays) add_other_way_round(found);
      const double rate = rate_of_rings(ways, found);
      if (rate <= best.gbps * (1 + kRounding)) continue;
      best.rings = std::move(found);
      best.gbps = rate;
      if (rate >= bound_gbps * (1 - kRounding)) return best;
    }
  }
  return best;
}

}  // namespace

Result<Rings> find_rings(const topo::Topology& topology, const Fabric& fabric,
                         LinkSharing sharing) {
  if (topology.num_ranks() > kMostRingRanks) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("rings along links are looked for up to {} ranks, and {} has {}; "
                             "--algo ring goes by rank numbers, --algo greedy along links",
                             kMostRingRanks, topology.name, topology.num_ranks())};
  }
  Rings best = best_rings(topology, ring_ways(topology, fabric.is_used), sharing,
                          least_cut_gbps(fabric.graph));
  if (!best.rings.empty()) return best;
  const std::vector<bool> all(topology.links.size(), true);
  best = best_rings(topology, ring_ways(topology, all), LinkSharing::kShared,
                    least_cut_gbps(fabric.whole));
  best.on_fabric = false;
  if (!best.rings.empty()) return best;
  return Error{ErrorCode::kUnsupported,
               fmt::format("no ring through all ranks of {} was found whose every edge a message "
                           "can take; trees need none (--algo packed)",
                           topology.name)};
}

std::vector<Tree> trees_along(const std::vector<Ring>& rings, const Collective& collective) {
  std::vector<Tree> trees;
  const bool goes_up = is_reducing(collective.kind);
  const bool goes_both = collective.kind == CollectiveKind::kAllReduce;
  for (const Ring& ring : rings) {
    for (size_t first = 0; first < ring.size(); ++first) {
      if (is_rooted(collective.kind) && ring[first] != collective.root) continue;
      std::vector<uint32_t> before(ring.size(), kNoParent);
      std::vector<uint32_t> behind(ring.size(), kNoParent);
      for (size_t i = 1; i < ring.size(); ++i) {
        const uint32_t at = ring[(first + i) % ring.size()];
        before[at] = ring[(first + i - 1) % ring.size()];
        behind[at] = ring[(first + i + 1) % ring.size()];
      }
      Tree tree{ring[first], goes_up && !goes_both ? behind : before};
      if (goes_both) tree.up = behind;
      trees.push_back(std::move(tree));
    }
  }
  return trees;
}

}  // namespace tutti::plan::packing
