#include "verify/contribution_set.h"

#include <algorithm>

namespace tutti::verify {

// Two arcs that do not overlap make an arc when one ends where the other begins; any other pair
// goes through lists.
ContributionSets::Union ContributionSets::unite(ContributionSet a, ContributionSet b) {
  if (a.length == 0) return {b, true};
  if (b.length == 0) return {a, true};
  if (a == b) return {a, false};
  if (a.length != ContributionSet::kListed && b.length != ContributionSet::kListed) {
    const uint32_t b_after_a = distance(a.begin, b.begin);
    const uint32_t a_after_b = distance(b.begin, a.begin);
    const bool disjoint = b_after_a >= a.length && a_after_b >= b.length;
    if (disjoint && b_after_a == a.length) return {arc(a.begin, a.length + b.length), true};
    if (disjoint && a_after_b == b.length) return {arc(b.begin, a.length + b.length), true};
  }
  return unite_lists(a, b);
}

ContributionSets::Union ContributionSets::unite_lists(ContributionSet a, ContributionSet b) {
  const auto known = unions_.find({a, b});
  if (known != unions_.end()) return known->second;

  Ranges both = ranges(a);
  const Ranges of_b = ranges(b);
  both.insert(both.end(), of_b.begin(), of_b.end());
  std::sort(both.begin(), both.end());
  Ranges merged;
  bool disjoint = true;
  for (Range range : both) {
    if (merged.empty() || merged.back().end < range.begin) {
      merged.push_back(range);
      continue;
    }
    if (merged.back().end > range.begin) disjoint = false;
    merged.back().end = std::max(merged.back().end, range.end);
  }
  const Union united{handle_of(std::move(merged)), disjoint};
  unions_.emplace(Pair{a, b}, united);
  return united;
}

ContributionSets::Ranges ContributionSets::ranges(ContributionSet set) const {
  if (set.length == 0) return {};
  if (set.length == ContributionSet::kListed) return *listed_[set.begin];
  const uint32_t until_end = num_ranks_ - set.begin;
  if (set.length <= until_end) return {{set.begin, set.begin + set.length}};
  return {{0, set.length - until_end}, {set.begin, num_ranks_}};
}

ContributionSets::Ranges ContributionSets::common(ContributionSet a, ContributionSet b) const {
  Ranges result;
  const Ranges of_b = ranges(b);
  for (Range x : ranges(a)) {
    for (Range y : of_b) {
      const Range both{std::max(x.begin, y.begin), std::min(x.end, y.end)};
      if (both.begin < both.end) result.push_back(both);
    }
  }
  return result;
}

ContributionSets::Ranges ContributionSets::missing(ContributionSet set) const {
  Ranges result;
  uint32_t next = 0;
  for (Range range : ranges(set)) {
    if (next < range.begin) result.push_back({next, range.begin});
    next = range.end;
  }
  if (next < num_ranks_) result.push_back({next, num_ranks_});
  return result;
}

ContributionSet ContributionSets::handle_of(Ranges ranges) {
  if (ranges.empty()) return {};
  const Range first = ranges.front();
  const Range last = ranges.back();
  if (ranges.size() == 1) return arc(first.begin, first.end - first.begin);
  if (ranges.size() == 2 && first.begin == 0 && last.end == num_ranks_) {
    return arc(last.begin, first.end + (last.end - last.begin));
  }
  const auto [entry, is_new] =
      index_of_.emplace(std::move(ranges), static_cast<uint32_t>(listed_.size()));
  if (is_new) listed_.push_back(&entry->first);
  return {entry->second, ContributionSet::kListed};
}

size_t ContributionSets::PairHash::operator()(const Pair& pair) const noexcept {
  const auto bits = [](ContributionSet set) { return uint64_t{set.begin} << 32 | set.length; };
  // Multiply-and-fold: the products spread both operands over all bits.
  const uint64_t mixed = bits(pair.a) * 0x9e3779b97f4a7c15u ^
                         (bits(pair.b) + 0x632be59bd9b4e019u) * 0xff51afd7ed558ccdu;
  return static_cast<size_t>(mixed ^ mixed >> 32);
}

}  // namespace tutti::verify
