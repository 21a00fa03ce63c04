#include "plan/packing/shares.h"

#include <cmath>
#include <utility>

#include "base/check.h"

namespace tutti::plan::packing {
namespace {

constexpr double kWorthMoreShares = 1.005;  // what more of them must gain: each is a pipeline more
constexpr double kFinestShare = 5e-4;       // how exactly the largest share is sought, relatively
constexpr int kMostHalvings = 64;           // capacities are below 2^60

Graph counted_in(const Graph& graph, double share_units) {
  Graph result = graph;
  for (auto& row : result.capacity) {
    for (int64_t& units : row) {
      units = static_cast<int64_t>(static_cast<double>(units) / share_units * (1 + kRounding));
    }
  }
  result.unit_gbps = graph.unit_gbps * share_units;
  return result;
}

class ShareSearch {
 public:
  ShareSearch(const Graph& graph, Fraction rate, const AreSupported& are_supported)
      : graph_(graph), rate_(boost::rational_cast<double>(rate)), are_supported_(are_supported) {}

  bool reaches_rate(int64_t shares) { return fits(shares, rate_); }

  // Raises the best rate if so many shares reach one that is worth having more of them.
  void consider(int64_t shares) {
    const double wanted = best_rate_ * kWorthMoreShares;
    if (wanted >= rate_ || (wanted > 0 && !fits(shares, wanted))) return;
    double low = wanted > 0 ? wanted : some_rate(shares);
    double high = rate_;
    while (high - low > kFinestShare * high) {
      const double middle = (low + high) / 2;
      (fits(shares, middle) ? low : high) = middle;
    }
    best_rate_ = low;
    best_shares_ = shares;
  }

  [[nodiscard]] Scaled at_rate(int64_t shares) const {
    return {counted_in(graph_, rate_ / static_cast<double>(shares)), shares};
  }
  [[nodiscard]] Scaled best() const {
    return {counted_in(graph_, best_rate_ / static_cast<double>(best_shares_)), best_shares_};
  }

 private:
  [[nodiscard]] bool fits(int64_t shares, double rate) const {
    return are_supported_(counted_in(graph_, rate / static_cast<double>(shares)), shares);
  }
  [[nodiscard]] double some_rate(int64_t shares) const {
    double rate = rate_ / 2;
    for (int i = 0; i < kMostHalvings && !fits(shares, rate); ++i) rate /= 2;
    TUTTI_CHECK(fits(shares, rate), "a share that is small enough fits");
    return rate;
  }

  const Graph& graph_;
  double rate_;
  const AreSupported& are_supported_;
  double best_rate_ = 0;
  int64_t best_shares_ = 0;
};

}  // namespace

Scaled cut_into_shares(const Graph& graph, Fraction rate, const ShareCount& count,
                       const AreSupported& are_supported) {
  ShareSearch search(graph, rate, are_supported);
  for (int64_t shares = count.least; shares <= count.most; ++shares) {
    if (search.reaches_rate(shares)) return search.at_rate(shares);
  }
  for (int64_t shares = count.least; shares <= count.most; ++shares) search.consider(shares);
  return search.best();
}

}  // namespace tutti::plan::packing
