// An exchange: every block has one rank to go to. All take the cheapest way through the steps, each
// in turn; a link that more of them take than fit becomes dearer, within the turn and for good, and
// all choose again, until nothing is too full (negotiated congestion, as in routing of circuits).
#include <algorithm>
#include <limits>
#include <numeric>

#include "plan/synth/greedy_random.h"
#include "plan/synth/steps/step_search.h"

namespace tutti::plan::steps {
namespace {

constexpr double kDearerByTurn = 0.5;   // each one too many, this turn, grows with turns
constexpr double kDearerForGood = 0.4;  // each one too many, from now on

class ExchangeSearch {
 public:
  ExchangeSearch(const StepNetwork& network, const StepDemand& demand, const Rounds& rounds)
      : network_(network),
        demand_(demand),
        rounds_(rounds),
        num_steps_(static_cast<uint32_t>(rounds.size())),
        used_(network.links.size() * rounds.size(), 0),
        dearer_(used_.size(), 0),
        ways_(size_t{network.num_ranks} * network.num_ranks * demand.chunks),
        random_(rounds.size()) {}

  std::optional<std::vector<Move>> run(const Attempts& attempts) {
    std::vector<uint32_t> order;
    for (uint32_t b = 0; b < ways_.size(); ++b) {
      if (from(b) != to(b)) order.push_back(b);
    }
    for (uint32_t turn = 0; turn < attempts.most; ++turn) {
      for (size_t i = order.size(); i > 1; --i) {
        std::swap(order[i - 1], order[static_cast<size_t>(random_.below(i))]);
      }
      for (const uint32_t block : order) choose(block, turn);
      if (is_done()) return moves();
    }
    return std::nullopt;
  }

 private:
  struct Leg {
    uint32_t hop;
    uint32_t step;
  };

  [[nodiscard]] uint32_t from(uint32_t block) const {
    return block / demand_.chunks / network_.num_ranks;
  }
  [[nodiscard]] uint32_t to(uint32_t block) const {
    return block / demand_.chunks % network_.num_ranks;
  }
  [[nodiscard]] size_t at(uint32_t link, uint32_t step) const {
    return size_t{link} * num_steps_ + step;
  }
  [[nodiscard]] uint32_t fits(uint32_t link, uint32_t step) const {
    return network_.links[link].capacity * rounds_[step];
  }

  void count(uint32_t block, int sign) {
    for (const Leg& leg : ways_[block]) {
      for (const uint32_t link : network_.hops[leg.hop].links) used_[at(link, leg.step)] += sign;
    }
  }

  [[nodiscard]] double cost(uint32_t hop, uint32_t step, uint32_t turn) const {
    double sum = 1;
    for (const uint32_t link : network_.hops[hop].links) {
      const int over = used_[at(link, step)] + 1 - static_cast<int>(fits(link, step));
      sum += dearer_[at(link, step)];
      if (over > 0) sum += over * kDearerByTurn * (1 + turn);
    }
    return sum;
  }

  // The cheapest way, step by step; waiting costs nothing.
  void choose(uint32_t block, uint32_t turn) {
    count(block, -1);
    const uint32_t p = network_.num_ranks;
    constexpr double kNever = std::numeric_limits<double>::infinity();
    std::vector<double> costs(p, kNever);
    std::vector<std::vector<uint32_t>> came(num_steps_, std::vector<uint32_t>(p, UINT32_MAX));
    costs[from(block)] = 0;
    for (uint32_t step = 0; step < num_steps_; ++step) {
      const std::vector<double> before = costs;
      for (uint32_t h = 0; h < network_.hops.size(); ++h) {
        const StepHop& hop = network_.hops[h];
        if (before[hop.from] == kNever) continue;
        const double sum = before[hop.from] + cost(h, step, turn);
        if (sum >= costs[hop.to]) continue;
        costs[hop.to] = sum;
        came[step][hop.to] = h;
      }
    }
    std::vector<Leg>& way = ways_[block];
    way.clear();
    uint32_t rank = to(block);
    for (uint32_t step = num_steps_; step-- > 0;) {
      if (came[step][rank] == UINT32_MAX) continue;
      way.push_back({came[step][rank], step});
      rank = network_.hops[came[step][rank]].from;
    }
    std::reverse(way.begin(), way.end());
    count(block, 1);
  }

  bool is_done() {
    bool fits_all = true;
    for (uint32_t link = 0; link < network_.links.size(); ++link) {
      for (uint32_t step = 0; step < num_steps_; ++step) {
        const int over = used_[at(link, step)] - static_cast<int>(fits(link, step));
        if (over <= 0) continue;
        dearer_[at(link, step)] += kDearerForGood * over;
        fits_all = false;
      }
    }
    return fits_all;
  }

  [[nodiscard]] std::vector<Move> moves() const {
    std::vector<Move> all;
    for (uint32_t block = 0; block < ways_.size(); ++block) {
      for (const Leg& leg : ways_[block]) all.push_back({leg.hop, block, leg.step});
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Move& a, const Move& b) { return a.step < b.step; });
    return all;
  }

  const StepNetwork& network_;
  const StepDemand& demand_;
  const Rounds& rounds_;
  uint32_t num_steps_;
  std::vector<int> used_;       // by link and step
  std::vector<double> dearer_;  // by link and step
  std::vector<std::vector<Leg>> ways_;
  synth::GreedyRandom random_;
};

}  // namespace

std::optional<std::vector<Move>> find_exchange(const StepNetwork& network, const StepDemand& demand,
                                               const Rounds& rounds, const Attempts& attempts) {
  return ExchangeSearch(network, demand, rounds).run(attempts);
}

}  // namespace tutti::plan::steps
