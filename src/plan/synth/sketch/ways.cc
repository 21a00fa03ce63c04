#include "plan/synth/sketch/ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <numeric>

#include "base/invalid.h"
#include "base/try.h"

namespace tutti::plan::sketch {
namespace {

constexpr uint64_t kMostChoices = 20'000'000;

// Which elements are one: the least of each set stands for it.
class Sets {
 public:
  explicit Sets(size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0u); }
  uint32_t find(uint32_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  void unite(uint32_t a, uint32_t b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<uint32_t> parent_;
};

// Hops between all ranks; [from][to], kNone where there is no way.
std::vector<std::vector<uint32_t>> hops_between(const Logical& logical) {
  std::vector<std::vector<uint32_t>> hops(logical.num_ranks);
  for (uint32_t source = 0; source < logical.num_ranks; ++source) {
    std::vector<uint32_t>& row = hops[source];
    row.assign(logical.num_ranks, kNone);
    row[source] = 0;
    std::deque<uint32_t> queue = {source};
    while (!queue.empty()) {
      const uint32_t at = queue.front();
      queue.pop_front();
      for (const uint32_t l : logical.out[at]) {
        const uint32_t to = logical.links[l].to;
        if (row[to] != kNone) continue;
        row[to] = row[at] + 1;
        queue.push_back(to);
      }
    }
  }
  return hops;
}

// The rank of its node that blocks of `rank` leave through; kNone: any.
uint32_t relay_of(const Sketch& sketch, uint32_t rank) {
  const uint32_t place = rank % sketch.ranks_per_node;
  for (const Relay& relay : sketch.relays) {
    if (std::find(relay.blocks_of.begin(), relay.blocks_of.end(), place) != relay.blocks_of.end()) {
      return rank - place + relay.through;
    }
  }
  return kNone;
}

}  // namespace

void Ways::open(const Logical& logical, const Demand& demand, const Sketch& sketch) {
  const auto hops = hops_between(logical);
  choices_.assign(uint64_t{demand.num_chunks()} * num_links_, kNone);
  for (uint32_t c = 0; c < demand.num_chunks(); ++c) {
    const uint32_t origin = demand.origin(c);
    const uint32_t target = demand.target(c);
    const bool is_exchange = demand.pattern == Pattern::kExchange;
    if (is_exchange && origin == target) continue;
    const uint32_t relay = relay_of(sketch, origin);
    for (uint32_t l = 0; l < logical.links.size(); ++l) {
      const Link& link = logical.links[l];
      if (link.to == origin) continue;
      if (link.crosses && relay != kNone && link.from != relay) continue;
      if (is_exchange) {
        if (link.from == target) continue;
        const uint32_t way = hops[origin][link.from] + 1 + hops[link.to][target];
        if (way > hops[origin][target] + sketch.detour) continue;
      }
      choices_[c * num_links_ + l] = static_cast<uint32_t>(c * num_links_ + l);
    }
  }
}

Status Ways::check_reach(const Logical& logical, const Demand& demand) const {
  for (uint32_t c = 0; c < demand.num_chunks(); ++c) {
    std::vector<bool> seen(num_ranks_, false);
    std::deque<uint32_t> queue = {demand.origin(c)};
    seen[demand.origin(c)] = true;
    while (!queue.empty()) {
      const uint32_t at = queue.front();
      queue.pop_front();
      for (const uint32_t l : logical.out[at]) {
        const uint32_t to = logical.links[l].to;
        if (!is_open(c, l) || seen[to]) continue;
        seen[to] = true;
        queue.push_back(to);
      }
    }
    for (uint32_t r = 0; r < num_ranks_; ++r) {
      if (seen[r] || !demand.wants(r, c)) continue;
      return invalid(fmt::format(
          "the sketch excludes every route for the data of rank {} to rank {}: where "
          "\"leave_through\" sends it, \"across\" must let it go on to that node{}",
          demand.origin(c), r,
          demand.pattern == Pattern::kExchange ? "; \"detour\" allows routes that are not shortest"
                                               : ""));
    }
  }
  return {};
}

Status Ways::unite(const Logical& logical, const Demand& demand, const Sketch& sketch) {
  const uint32_t num_chunks = demand.num_chunks();
  Sets links(choices_.size());
  Sets ranks(uint64_t{num_chunks} * num_ranks_);
  for (const Rotation& rotation : sketch.symmetry) {
    TUTTI_ASSIGN(const std::vector<uint32_t> image, link_images(logical, rotation));
    for (uint32_t c = 0; c < num_chunks; ++c) {
      const uint32_t d = demand.image(c, rotation);
      for (uint32_t l = 0; l < num_links_; ++l) {
        if (is_open(c, l) != is_open(d, image[l])) {
          return invalid(
              fmt::format("symmetry [{}, {}] does not fit the sketch's \"leave_through\": data of "
                          "rank {} is treated otherwise than that of rank {}",
                          rotation.offset, rotation.group, demand.origin(c), demand.origin(d)));
        }
        if (is_open(c, l)) {
          links.unite(static_cast<uint32_t>(c * num_links_ + l),
                      static_cast<uint32_t>(d * num_links_ + image[l]));
        }
      }
      for (uint32_t r = 0; r < num_ranks_; ++r) {
        ranks.unite(static_cast<uint32_t>(c * num_ranks_ + r),
                    static_cast<uint32_t>(d * num_ranks_ + rotated(r, rotation)));
      }
    }
  }
  // Numbered densely; the least of a set comes first.
  std::vector<uint32_t> number(choices_.size(), kNone);
  for (uint32_t i = 0; i < choices_.size(); ++i) {
    if (choices_[i] == kNone) continue;
    const uint32_t set = links.find(i);
    if (set == i) number[i] = num_choices_++;
    choices_[i] = number[set];
  }
  arrivals_.assign(uint64_t{num_chunks} * num_ranks_, kNone);
  for (uint32_t i = 0; i < arrivals_.size(); ++i) {
    const uint32_t set = ranks.find(i);
    arrivals_[i] = set == i ? num_arrivals_++ : arrivals_[set];
  }
  return {};
}

Result<Ways> Ways::make(const Logical& logical, const Demand& demand, const Sketch& sketch) {
  Ways ways;
  ways.num_links_ = logical.links.size();
  ways.num_ranks_ = logical.num_ranks;
  if (uint64_t{demand.num_chunks()} * (ways.num_links_ + ways.num_ranks_) > kMostChoices) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{} chunks on {} links are too many to choose from; a sketch with "
                             "fewer chunks or links may do, or --algo packed",
                             demand.num_chunks(), ways.num_links_)};
  }
  ways.open(logical, demand, sketch);
  TUTTI_TRY(ways.check_reach(logical, demand));
  TUTTI_TRY(ways.unite(logical, demand, sketch));
  return ways;
}

}  // namespace tutti::plan::sketch
