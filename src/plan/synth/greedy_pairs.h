// Which pairs of ranks pass data to each other; greedy_network.h says by which rules.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/synth/greedy_network.h"
#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::plan::synth {

struct Pair {
  uint32_t from = 0;
  uint32_t to = 0;
  uint32_t turn = 0;  // as Hop::turn
};

// Sorted by (from, to), none twice. The topology must pass topo::check.
[[nodiscard]] std::vector<Pair> pairs_of(const topo::Topology& topology, Reach reach);

[[nodiscard]] std::vector<Pair> all_pairs(uint32_t num_ranks);

// kInvalidArgument naming the rank and device.
[[nodiscard]] Status check_one_rank_a_device(const topo::Topology& topology);

}  // namespace tutti::plan::synth
