// Who waited for whom, and how long: sums over all lanes of each pair of ranks.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "sim/report.h"

namespace tutti::sim {

class Waits {
 public:
  explicit Waits(uint32_t num_ranks) : rank_ns_(num_ranks, 0) {}

  void add(Rank rank, Rank on, double ns) {
    if (ns <= 0) return;
    rank_ns_[rank.value] += ns;
    pair_ns_[(uint64_t{rank.value} << 32) | on.value] += ns;
  }

  // The longest first; among equals the least ranks.
  [[nodiscard]] std::vector<Wait> longest(uint32_t max_waits) const;
  [[nodiscard]] const std::vector<double>& rank_ns() const { return rank_ns_; }

 private:
  std::vector<double> rank_ns_;
  std::unordered_map<uint64_t, double> pair_ns_;
};

}  // namespace tutti::sim
