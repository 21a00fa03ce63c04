// How a block is cut into equal shares, each of which one tree carries, and how many shares each
// link then takes.
#pragma once

#include <cstdint>
#include <functional>

#include "plan/packing/bounds.h"
#include "plan/packing/graph.h"

namespace tutti::plan::packing {

// Rates that differ by less are equal: links are read to the kB/s, which a rate of 1 GB/s and more
// feels in its seventh digit, and measured rates are seldom whole multiples of each other.
inline constexpr double kRounding = 1e-6;

// A graph whose unit is one share; every demand gets `shares`.
struct Scaled {
  Graph graph;
  int64_t shares = 0;
};

struct ShareCount {
  int64_t least = 1;
  int64_t most = 1;
};

// Whether so many shares fit; holds for smaller shares where it holds for larger ones.
using AreSupported = std::function<bool(const Graph& in_shares, int64_t shares)>;

// The fewest shares that reach the rate with every link rounded down to whole shares. Where none of
// the counts does, each with its largest shares that fit: the fewest that come within half a
// percent of the best count. A share that is small enough must be supported.
[[nodiscard]] Scaled cut_into_shares(const Graph& graph, Fraction rate, const ShareCount& count,
                                     const AreSupported& are_supported);

}  // namespace tutti::plan::packing
