// Which ranks' contributions a value holds, as a set that costs eight bytes to keep and, nearly
// always, a few instructions to unite.
//
// The sets of rings, trees and halvings are arcs: consecutive ranks, counted around the circle. An
// arc is held in the handle itself; any other set is a sorted list of ranges, kept once in a table,
// and its unions are remembered. Equal sets have equal handles.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/ids.h"

namespace tutti::verify {

// A handle; meaningful with the ContributionSets that made it. Default: the empty set.
struct ContributionSet {
  uint32_t begin = 0;   // first rank of the arc; or the index in the table
  uint32_t length = 0;  // ranks in the arc; or kListed

  static constexpr uint32_t kListed = UINT32_MAX;

  friend bool operator==(const ContributionSet&, const ContributionSet&) = default;
};

class ContributionSets {
 public:
  // Ranks [begin, end).
  struct Range {
    uint32_t begin;
    uint32_t end;
    friend auto operator<=>(const Range&, const Range&) = default;
  };
  using Ranges = std::vector<Range>;
  struct Union {
    ContributionSet set;
    bool disjoint;
  };

  // Fewer than 2^32 - 1 ranks.
  explicit ContributionSets(uint32_t num_ranks) : num_ranks_(num_ranks) {}

  [[nodiscard]] uint32_t num_ranks() const { return num_ranks_; }
  [[nodiscard]] ContributionSet only(Rank rank) const { return arc(rank.value, 1); }
  [[nodiscard]] ContributionSet all() const { return {0, num_ranks_}; }
  [[nodiscard]] Union unite(ContributionSet a, ContributionSet b);

  // Sorted, not touching each other.
  [[nodiscard]] Ranges ranges(ContributionSet set) const;
  // The ranks that are in both; the ranks that are not in the set. For messages.
  [[nodiscard]] Ranges common(ContributionSet a, ContributionSet b) const;
  [[nodiscard]] Ranges missing(ContributionSet set) const;

 private:
  [[nodiscard]] ContributionSet arc(uint32_t begin, uint32_t length) const {
    return length == num_ranks_ ? all() : ContributionSet{begin, length};
  }
  // How far rank `to` lies behind `from`, going up and around.
  [[nodiscard]] uint32_t distance(uint32_t from, uint32_t to) const {
    return to >= from ? to - from : to + (num_ranks_ - from);
  }
  [[nodiscard]] ContributionSet handle_of(Ranges ranges);
  [[nodiscard]] Union unite_lists(ContributionSet a, ContributionSet b);

  struct Pair {
    ContributionSet a;
    ContributionSet b;
    friend bool operator==(const Pair&, const Pair&) = default;
  };
  struct PairHash {
    size_t operator()(const Pair& pair) const noexcept;
  };

  uint32_t num_ranks_;
  std::map<Ranges, uint32_t> index_of_;
  std::vector<const Ranges*> listed_;  // the keys above, which never move
  std::unordered_map<Pair, Union, PairHash> unions_;
};

}  // namespace tutti::verify
