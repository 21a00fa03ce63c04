// A spread, step by step. In every step but the last, first whatever cannot wait: a rank that would
// be too far from all who have a chunk to get it in the steps that are left. Then all links are
// filled with what their receivers lack; a copy more never hurts. The last step is a matching of
// what is lacking to links, found by augmenting, exact where every hop is one link or two.
//
// What the matching leaves over weighs more in the next attempt, so that it is brought earlier.
#include <algorithm>
#include <numeric>

#include "plan/synth/greedy_random.h"
#include "plan/synth/steps/step_search.h"

namespace tutti::plan::steps {
namespace {

constexpr uint32_t kNotThere = UINT32_MAX;

class SpreadSearch {
 public:
  SpreadSearch(const StepNetwork& network, const StepDemand& demand, const Rounds& rounds,
               uint64_t seed)
      : network_(network),
        demand_(demand),
        rounds_(rounds),
        num_chunks_(demand.num_chunks()),
        distance_(network.distances()),
        weight_(size_t{network.num_ranks} * num_chunks_, 0),
        random_(rounds.size() + seed) {
    uint32_t least = UINT32_MAX;
    for (const StepLink& link : network.links) least = std::min(least, link.capacity);
    for (const StepLink& link : network.links) is_narrow_.push_back(link.capacity == least);
    for (const StepHop& hop : network.hops) {
      narrow_.push_back(static_cast<uint32_t>(std::count_if(
          hop.links.begin(), hop.links.end(), [&](uint32_t link) { return is_narrow_[link]; })));
    }
  }

  std::optional<std::vector<Move>> run(const Attempts& attempts) {
    uint32_t fewest = UINT32_MAX;
    uint32_t in_vain = 0;
    for (uint32_t i = 0; i < attempts.most && in_vain < attempts.in_vain; ++i) {
      num_tried_ = 0;
      const bool is_found = attempt();
      *attempts.work -= std::min(num_tried_, *attempts.work);
      if (is_found) return std::move(moves_);
      if (*attempts.work == 0) break;
      in_vain = num_lacking_ < fewest ? 0 : in_vain + 1;
      fewest = std::min(fewest, num_lacking_);
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] size_t at(uint32_t rank, uint32_t chunk) const {
    return size_t{rank} * num_chunks_ + chunk;
  }
  [[nodiscard]] bool has(uint32_t rank, uint32_t chunk) const {
    return arrival_[at(rank, chunk)] != kNotThere;
  }
  [[nodiscard]] bool can_send(uint32_t hop, uint32_t chunk, uint32_t step) const {
    const StepHop& each = network_.hops[hop];
    const uint32_t arrived = arrival_[at(each.from, chunk)];
    return arrived != kNotThere && arrived <= step && !has(each.to, chunk);
  }
  [[nodiscard]] bool has_room(uint32_t hop) const {
    const auto& links = network_.hops[hop].links;
    return std::all_of(links.begin(), links.end(), [&](uint32_t link) { return room_[link] > 0; });
  }
  [[nodiscard]] double noise() { return 1e-6 * static_cast<double>(random_.below(1'000'000)); }

  void take(uint32_t hop, uint32_t chunk, uint32_t step) {
    for (const uint32_t link : network_.hops[hop].links) --room_[link];
    arrival_[at(network_.hops[hop].to, chunk)] = step + 1;
    ++num_copies_[chunk];
    moves_.push_back({hop, chunk, step});
  }

  bool attempt() {
    moves_.clear();
    arrival_.assign(weight_.size(), kNotThere);
    num_copies_.assign(num_chunks_, 1);
    for (uint32_t c = 0; c < num_chunks_; ++c) {
      arrival_[at(demand_.owners[c / demand_.chunks], c)] = 0;
    }
    const auto num_steps = static_cast<uint32_t>(rounds_.size());
    for (uint32_t step = 0; step < num_steps; ++step) {
      room_.clear();
      for (const StepLink& link : network_.links) room_.push_back(link.capacity * rounds_[step]);
      if (step + 1 == num_steps) return match(step);
      if (!bring_what_is_urgent(step)) return false;
      fill(step);
    }
    return true;
  }

  // Ranks that lack the chunk and are more than `reach` hops from all that have it.
  [[nodiscard]] std::vector<uint32_t> lost(uint32_t chunk, uint32_t reach) const {
    std::vector<uint32_t> found;
    const uint32_t p = network_.num_ranks;
    for (uint32_t r = 0; r < p; ++r) {
      uint32_t nearest = UINT32_MAX;
      for (uint32_t from = 0; from < p; ++from) {
        if (has(from, chunk)) nearest = std::min(nearest, distance_[size_t{from} * p + r]);
      }
      if (nearest > reach) found.push_back(r);
    }
    return found;
  }

  bool bring_what_is_urgent(uint32_t step) {
    const auto reach = static_cast<uint32_t>(rounds_.size()) - step - 1;
    std::vector<uint32_t> chunks(num_chunks_);
    std::iota(chunks.begin(), chunks.end(), 0u);
    for (uint32_t i = num_chunks_; i > 1; --i) {
      std::swap(chunks[i - 1], chunks[static_cast<size_t>(random_.below(i))]);
    }
    for (const uint32_t chunk : chunks) {
      for (auto far = lost(chunk, reach); !far.empty(); far = lost(chunk, reach)) {
        const uint32_t hop = best_towards(far, chunk, step, reach);
        if (hop == kNotThere) {
          for (const uint32_t r : far) weight_[at(r, chunk)] += 1;
          num_lacking_ = UINT32_MAX;
          return false;
        }
        take(hop, chunk, step);
      }
    }
    return true;
  }

  // The hop that brings the chunk near most of these ranks.
  uint32_t best_towards(const std::vector<uint32_t>& far, uint32_t chunk, uint32_t step,
                        uint32_t reach) {
    uint32_t best = kNotThere;
    double most = 0;
    for (uint32_t h = 0; h < network_.hops.size(); ++h) {
      if (!can_send(h, chunk, step) || !has_room(h)) continue;
      const uint32_t to = network_.hops[h].to;
      double value = 0;
      for (const uint32_t r : far) {
        const bool is_near = distance_[size_t{to} * network_.num_ranks + r] <= reach;
        if (is_near) value += 1 + weight_[at(r, chunk)];
      }
      if (value > 0) value += noise();
      if (value <= most) continue;
      most = value;
      best = h;
    }
    return best;
  }

  // Fills all links; the rarest chunk first, and what was missing in the end before.
  void fill(uint32_t step) {
    struct Wish {
      double value;
      uint32_t hop;
      uint32_t chunk;
    };
    std::vector<Wish> wishes;
    for (uint32_t h = 0; h < network_.hops.size(); ++h) {
      for (uint32_t c = 0; c < num_chunks_; ++c) {
        if (!can_send(h, c, step)) continue;
        const double weight = weight_[at(network_.hops[h].to, c)];
        wishes.push_back({weight - num_copies_[c] + noise(), h, c});
      }
    }
    num_tried_ += wishes.size();
    std::sort(wishes.begin(), wishes.end(),
              [](const Wish& a, const Wish& b) { return a.value > b.value; });
    for (const Wish& wish : wishes) {
      if (can_send(wish.hop, wish.chunk, step) && has_room(wish.hop)) {
        take(wish.hop, wish.chunk, step);
      }
    }
  }

  struct Need {
    uint32_t rank;
    uint32_t chunk;
    std::vector<uint32_t> hops = {};  // from ranks that have the chunk
    uint32_t hop = kNotThere;
  };

  bool match(uint32_t step) {
    needs_.clear();
    for (uint32_t r = 0; r < network_.num_ranks; ++r) {
      for (uint32_t c = 0; c < num_chunks_; ++c) {
        if (has(r, c)) continue;
        needs_.push_back({r, c});
        for (const uint32_t h : network_.in[r]) {
          if (has(network_.hops[h].from, c)) needs_.back().hops.push_back(h);
        }
      }
    }
    if (takes_too_much()) return false;
    users_.assign(network_.links.size(), {});
    // Where a search has found no room there is none until another need is served.
    is_visited_.assign(network_.links.size(), false);
    num_lacking_ = 0;
    for (uint32_t n = 0; n < needs_.size(); ++n) {
      if (serve(n)) {
        is_visited_.assign(network_.links.size(), false);
        continue;
      }
      weight_[at(needs_[n].rank, needs_[n].chunk)] += 1;
      ++num_lacking_;
    }
    if (num_lacking_ > 0) return false;
    for (const Need& need : needs_) moves_.push_back({need.hop, need.chunk, step});
    return true;
  }

  // Of the narrowest links all hops into a need take some: where that is more than there is, none
  // of them has to be tried. What is far from all who have it is to be brought nearer next time.
  bool takes_too_much() {
    uint64_t room = 0;
    for (size_t l = 0; l < room_.size(); ++l) room += is_narrow_[l] ? room_[l] : 0;
    uint64_t taken = 0;
    std::vector<uint32_t> least(needs_.size(), UINT32_MAX);
    for (size_t n = 0; n < needs_.size(); ++n) {
      for (const uint32_t h : needs_[n].hops) least[n] = std::min(least[n], narrow_[h]);
      taken += least[n];
    }
    if (taken <= room) return false;
    num_lacking_ = static_cast<uint32_t>(std::min<uint64_t>(taken - room, kNotThere));
    for (size_t n = 0; n < needs_.size(); ++n) {
      weight_[at(needs_[n].rank, needs_[n].chunk)] += least[n] > 1 ? least[n] - 1 : 0;
    }
    return true;
  }

  // A hop for the need, moving others to other hops where links are full.
  bool serve(uint32_t n) {
    ++num_tried_;
    for (const uint32_t h : needs_[n].hops) {
      if (has_room(h)) return assign(n, h);
    }
    for (const uint32_t h : needs_[n].hops) {
      const auto& links = network_.hops[h].links;
      const auto full =
          std::find_if(links.begin(), links.end(), [&](uint32_t link) { return room_[link] == 0; });
      if (full == links.end() || is_visited_[*full]) continue;
      is_visited_[*full] = true;
      const std::vector<uint32_t> others = users_[*full];
      for (const uint32_t other : others) {
        if (uses(other, *full) && serve_elsewhere(other) && has_room(h)) return assign(n, h);
      }
    }
    return false;
  }
  // What others were moved for may have moved it too.
  [[nodiscard]] bool uses(uint32_t need, uint32_t link) const {
    const auto& links = network_.hops[needs_[need].hop].links;
    return std::find(links.begin(), links.end(), link) != links.end();
  }

  // Takes the need off its hop and gives it another; back to the old one where there is none.
  bool serve_elsewhere(uint32_t n) {
    const uint32_t before = needs_[n].hop;
    release(n);
    for (const uint32_t link : network_.hops[before].links) --room_[link];  // for who asked
    const bool is_served = serve(n);
    for (const uint32_t link : network_.hops[before].links) ++room_[link];
    if (!is_served) assign(n, before);
    return is_served;
  }

  bool assign(uint32_t n, uint32_t hop) {
    needs_[n].hop = hop;
    for (const uint32_t link : network_.hops[hop].links) {
      --room_[link];
      users_[link].push_back(n);
    }
    return true;
  }
  void release(uint32_t n) {
    for (const uint32_t link : network_.hops[needs_[n].hop].links) {
      ++room_[link];
      std::erase(users_[link], n);
    }
    needs_[n].hop = kNotThere;
  }

  const StepNetwork& network_;
  const StepDemand& demand_;
  const Rounds& rounds_;
  uint32_t num_chunks_;
  std::vector<uint32_t> distance_;
  std::vector<double> weight_;  // by rank and chunk
  synth::GreedyRandom random_;
  std::vector<bool> is_narrow_;   // links
  std::vector<uint32_t> narrow_;  // by hop: how many of its links are
  // Of the attempt:
  std::vector<Move> moves_;
  std::vector<uint32_t> arrival_;     // by rank and chunk: before which step it was there
  std::vector<uint32_t> num_copies_;  // by chunk
  std::vector<uint32_t> room_;        // by link, in this step
  // Of its last step:
  std::vector<Need> needs_;
  std::vector<std::vector<uint32_t>> users_;  // needs by link
  std::vector<bool> is_visited_;              // links, in one search
  uint64_t num_tried_ = 0;                    // wishes and hops for needs, roughly
  uint32_t num_lacking_ = 0;                  // needs that were not served
};

}  // namespace

std::optional<std::vector<Move>> find_spread(const StepNetwork& network, const StepDemand& demand,
                                             const Rounds& rounds, const Attempts& attempts) {
  return SpreadSearch(network, demand, rounds, attempts.seed).run(attempts);
}

}  // namespace tutti::plan::steps
