#include "plan/synth/sketch/ordering.h"

#include <algorithm>
#include <tuple>

namespace tutti::plan::sketch {
namespace {

// What a list looks at first.
enum class Rule : uint8_t { kEarliest, kFarthest };

class Lister {
 public:
  Lister(const Logical& logical, const Demand& demand,
         const std::vector<std::vector<uint32_t>>& links, const OrderingOptions& options)
      : logical_(logical), demand_(demand), options_(options) {
    std::vector<uint32_t> brought(logical.num_ranks);
    for (uint32_t c = 0; c < links.size(); ++c) {
      brought.assign(logical.num_ranks, kNone);
      const size_t first = transfers_.size();
      for (const uint32_t l : links[c]) {
        const Link& link = logical.links[l];
        brought[link.to] = static_cast<uint32_t>(transfers_.size());
        transfers_.push_back({.chunk = c, .link = l, .parent = brought[link.from]});
      }
      ahead_.resize(transfers_.size(), 0);
      for (size_t t = transfers_.size(); t-- > first;) {  // links stand from the origin outwards
        ahead_[t] += logical.message_ns(transfers_[t].link, options.chunk_bytes);
        const uint32_t parent = transfers_[t].parent;
        if (parent != kNone) ahead_[parent] = std::max(ahead_[parent], ahead_[t]);
      }
    }
    children_.resize(transfers_.size());
    for (uint32_t t = 0; t < transfers_.size(); ++t) {
      if (transfers_[t].parent != kNone) children_[transfers_[t].parent].push_back(t);
    }
  }

  std::vector<Transfer> list(Rule rule) const {
    std::vector<Transfer> placed = transfers_;
    std::vector<double> port_free(logical_.port_ns_per_byte.size(), 0);
    std::vector<uint32_t> ready;
    std::vector<uint32_t> sequence;
    for (uint32_t t = 0; t < placed.size(); ++t) {
      if (placed[t].parent == kNone) ready.push_back(t);
    }
    while (!ready.empty()) {
      size_t best = 0;
      auto best_key = key(rule, placed, port_free, ready[0]);
      for (size_t i = 1; i < ready.size(); ++i) {
        const auto other = key(rule, placed, port_free, ready[i]);
        if (other < best_key) std::tie(best, best_key) = std::tuple(i, other);
      }
      const uint32_t t = ready[best];
      ready[best] = ready.back();
      ready.pop_back();
      place(placed, port_free, t);
      sequence.push_back(t);
      ready.insert(ready.end(), children_[t].begin(), children_[t].end());
    }
    return renumbered(placed, sequence);
  }

 private:
  using Key = std::tuple<double, double, double, uint32_t, uint32_t>;

  [[nodiscard]] double begin_of(const std::vector<Transfer>& placed,
                                const std::vector<double>& port_free, uint32_t t) const {
    const uint32_t parent = placed[t].parent;
    double begin = parent == kNone ? 0 : placed[parent].end_ns;
    for (const uint32_t p : logical_.links[placed[t].link].ports) {
      begin = std::max(begin, port_free[p]);
    }
    return begin;
  }

  [[nodiscard]] Key key(Rule rule, const std::vector<Transfer>& placed,
                        const std::vector<double>& port_free, uint32_t t) const {
    const Link& link = logical_.links[placed[t].link];
    const bool is_foreign =
        options_.own_first && link.crosses && demand_.origin(placed[t].chunk) != link.from;
    const double begin = begin_of(placed, port_free, t);
    const double ahead = -ahead_[t];
    return rule == Rule::kEarliest
               ? Key(begin, is_foreign ? 1 : 0, ahead, placed[t].chunk, placed[t].link)
               : Key(is_foreign ? 1 : 0, ahead, begin, placed[t].chunk, placed[t].link);
  }

  void place(std::vector<Transfer>& placed, std::vector<double>& port_free, uint32_t t) const {
    Transfer& transfer = placed[t];
    transfer.begin_ns = begin_of(placed, port_free, t);
    transfer.end_ns = transfer.begin_ns + logical_.message_ns(transfer.link, options_.chunk_bytes);
    for (const uint32_t p : logical_.links[transfer.link].ports) {
      port_free[p] = transfer.begin_ns + logical_.port_ns_per_byte[p] * options_.chunk_bytes;
    }
  }

  // By begin; a stable sort keeps parents before children where transfers take no time.
  [[nodiscard]] std::vector<Transfer> renumbered(const std::vector<Transfer>& placed,
                                                 std::vector<uint32_t> sequence) const {
    std::stable_sort(sequence.begin(), sequence.end(), [&](uint32_t a, uint32_t b) {
      return placed[a].begin_ns < placed[b].begin_ns;
    });
    std::vector<uint32_t> number(placed.size());
    for (uint32_t i = 0; i < sequence.size(); ++i) number[sequence[i]] = i;
    std::vector<Transfer> sorted;
    for (const uint32_t t : sequence) {
      sorted.push_back(placed[t]);
      if (sorted.back().parent != kNone) sorted.back().parent = number[sorted.back().parent];
    }
    return sorted;
  }

  const Logical& logical_;
  const Demand& demand_;
  const OrderingOptions& options_;
  std::vector<Transfer> transfers_;
  std::vector<double> ahead_;  // of each transfer: until its chunk is everywhere behind it
  std::vector<std::vector<uint32_t>> children_;
};

}  // namespace

std::vector<Transfer> order(const Logical& logical, const Demand& demand,
                            const std::vector<std::vector<uint32_t>>& links,
                            const OrderingOptions& options) {
  const Lister lister(logical, demand, links, options);
  std::vector<Transfer> earliest = lister.list(Rule::kEarliest);
  std::vector<Transfer> farthest = lister.list(Rule::kFarthest);
  return makespan_ns(farthest) < makespan_ns(earliest) ? farthest : earliest;
}

double makespan_ns(const std::vector<Transfer>& transfers) {
  double ns = 0;
  for (const Transfer& transfer : transfers) ns = std::max(ns, transfer.end_ns);
  return ns;
}

double interval_ns(const Logical& logical, const std::vector<Transfer>& transfers,
                   double chunk_bytes) {
  std::vector<double> busy(logical.port_ns_per_byte.size(), 0);
  for (const Transfer& transfer : transfers) {
    for (const uint32_t p : logical.links[transfer.link].ports) {
      busy[p] += logical.port_ns_per_byte[p] * chunk_bytes;
    }
  }
  return busy.empty() ? 0 : *std::max_element(busy.begin(), busy.end());
}

}  // namespace tutti::plan::sketch
