// Time and links while a schedule is made: what happens when, and how much room links have left.
// Times are whole picoseconds, so that events meant for one moment meet in it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "plan/synth/greedy_network.h"

namespace tutti::plan::synth {

// How long `bytes` take at a rate: never 0, and never so long that times overflow.
[[nodiscard]] inline int64_t transfer_ps(double bytes, int64_t kb_per_s) {
  constexpr double kLongest = 1e15;  // a quarter of an hour for one piece
  const double ps = bytes * 1e9 / static_cast<double>(kb_per_s);
  return std::llround(std::clamp(ps, 1.0, kLongest));
}

// A transfer that begins to free its links, or that arrives.
struct GreedyEvent {
  uint32_t hop = 0;
  uint32_t chunk = 0;
  uint32_t num_chunks = 1;
  int64_t kb_per_s = 0;  // what it gives back to its links; 0: it arrives
};

// Events by time. Many share a moment, so moments are kept and not events.
class Timeline {
 public:
  void add(int64_t at_ps, const GreedyEvent& event) {
    auto [moment, is_new] = moments_.try_emplace(at_ps);
    if (is_new && !spare_.empty()) {
      moment->second = std::move(spare_.back());
      spare_.pop_back();
    }
    moment->second.push_back(event);
  }
  [[nodiscard]] bool empty() const { return moments_.empty(); }

  // The events of the earliest moment, into `events`; returns when it is.
  int64_t take_first(std::vector<GreedyEvent>& events) {
    const auto first = moments_.begin();
    const int64_t at_ps = first->first;
    events.clear();
    events.swap(first->second);
    spare_.push_back(std::move(first->second));
    spare_.back().clear();
    moments_.erase(first);
    return at_ps;
  }

 private:
  std::map<int64_t, std::vector<GreedyEvent>> moments_;
  std::vector<std::vector<GreedyEvent>> spare_;
};

// What transfers under way leave of each link, and which hops wait for it.
class LinkRoom {
 public:
  explicit LinkRoom(const Network& network)
      : network_(network), free_(network.link_kb_per_s), waiting_(free_.size()) {}

  // The rate that the hop could have now, or 0, and then the hop is noted as waiting. Half its
  // full rate is worth to begin with; less would hold its other links for too little.
  int64_t rate_or_wait(uint32_t hop_index) {
    const Hop& hop = network_.hops[hop_index];
    int64_t rate = INT64_MAX;
    uint32_t narrowest = 0;
    for (const uint32_t link : network_.links_of(hop)) {
      if (free_[link] < rate) narrowest = link;
      rate = std::min(rate, free_[link]);
    }
    if (2 * rate >= hop.kb_per_s) return std::min(rate, hop.kb_per_s);
    waiting_[narrowest].push_back(hop_index);
    return 0;
  }
  void take(const Hop& hop, int64_t kb_per_s) {
    for (const uint32_t link : network_.links_of(hop)) free_[link] -= kb_per_s;
  }
  void give_back(const Hop& hop, int64_t kb_per_s) {
    for (const uint32_t link : network_.links_of(hop)) {
      free_[link] += kb_per_s;
      if (!waiting_[link].empty()) released_.push_back(link);
    }
  }
  // Moves the hops that waited for links with room again to `woken`.
  void wake(std::vector<uint32_t>& woken) {
    for (const uint32_t link : released_) {
      woken.insert(woken.end(), waiting_[link].begin(), waiting_[link].end());
      waiting_[link].clear();
    }
    released_.clear();
  }
  // The same for ports with thousands of hops: calls try_hop for the hops that waited for links
  // with room again, the longest waiting first, until there is none left. One that must wait again
  // is noted anew, by rate_or_wait.
  template <class TryHop>
  void try_waiting(TryHop try_hop) {
    for (size_t i = 0; i < released_.size(); ++i) {
      const uint32_t link = released_[i];
      batch_.clear();
      batch_.swap(waiting_[link]);
      size_t next = 0;
      while (next < batch_.size() && free_[link] > 0) try_hop(batch_[next++]);
      waiting_[link].insert(waiting_[link].begin(), batch_.begin() + static_cast<ptrdiff_t>(next),
                            batch_.end());
    }
    released_.clear();
  }

 private:
  const Network& network_;
  std::vector<int64_t> free_;
  std::vector<std::vector<uint32_t>> waiting_;  // by link
  std::vector<uint32_t> released_;              // links with waiting hops, not yet woken
  std::vector<uint32_t> batch_;
};

// The order in which hops are tried at one moment: turn by turn, `first_turn` first.
inline void sort_by_turn(const Network& network, uint32_t first_turn, std::vector<uint32_t>& hops) {
  const auto place = [&](uint32_t h) {
    const uint32_t turn = network.hops[h].turn;
    return turn >= first_turn ? turn - first_turn : turn + network.num_turns - first_turn;
  };
  std::sort(hops.begin(), hops.end(), [&](uint32_t a, uint32_t b) {
    const uint32_t place_a = place(a);
    const uint32_t place_b = place(b);
    return place_a != place_b ? place_a < place_b : a < b;
  });
}

}  // namespace tutti::plan::synth
