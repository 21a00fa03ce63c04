// How fast a collective can be on a graph at best, and the cut that proves it. Exact: whole numbers
// and fractions only.
//
// One-way collectives (broadcast, all_gather; reduce and reduce_scatter are these on the reversed
// graph): rank r has demand d(r), the share of the data that starts there. All d(A) that starts in
// a set A of nodes must leave it if some rank is outside. So the rate per unit of demand is at most
// B+(A) / d(A), and the least of these is reached (Edmonds for one root; ForestColl for many).
//
// Where a switch gives out more than it takes in (a NIC that two GPUs share), that is not reached.
// There it helps to count arrivals: rank r must take in all but d(r), each byte in a message of its
// own, so any set of ranks needs messages into it at that rate, summed; a flow tells how much they
// carry.
//
// all_reduce: cut the ranks into k groups. However it is done, 2(k - 1) copies of every byte cross
// between groups: k - 1 to bring the contributions together, k - 1 to spread the result. So the
// rate is at most (what can leave the groups, summed) / 2(k - 1). Where links are as fast both ways
// and there are no switches this is Tutte's and Nash-Williams' number, and is reached.
#pragma once

#include <boost/rational.hpp>
#include <cstdint>
#include <vector>

#include "plan/packing/graph.h"

namespace tutti::plan::packing {

using Fraction = boost::rational<int64_t>;

// A rate in the graph's units, and the sets that prove it: what leaves each, summed, is `crossing`.
struct Bound {
  Fraction rate = 0;
  std::vector<std::vector<uint32_t>> groups = {};  // one for a cut, several for a partition
  int64_t crossing = 0;
  bool is_entering = false;     // what enters the groups counts, not what leaves
  bool is_by_arrivals = false;  // each group is a rank, and what reaches all of them is counted
};

// Per unit of demand. `demand` is indexed by rank, not all zero; there are at least two ranks.
[[nodiscard]] Bound least_cut(const Graph& graph, const std::vector<int64_t>& demand);

// The same, by arrivals. Between the ranks of `groups` and all others.
[[nodiscard]] Bound least_arrivals(const Graph& graph, const std::vector<int64_t>& demand);

// Whether trees of these demands fit: every rank can be reached by all of them at once.
[[nodiscard]] bool supports(const Graph& graph, const std::vector<int64_t>& demand);

// all_reduce, as above; also not more than the least cut between any two ranks, each way.
[[nodiscard]] Bound least_partition(const Graph& graph);

// What leaves a set of nodes.
[[nodiscard]] int64_t leaving(const Graph& graph, const std::vector<bool>& inside);

}  // namespace tutti::plan::packing
