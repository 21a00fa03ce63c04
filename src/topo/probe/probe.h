// Measures this host instead of believing its data sheet: for each pair of cores, how long a signal
// takes (alpha) and how fast one copies what the other just wrote (beta).
//
// Spins on the cores it measures, for about 20 ms a pair: not for use beside other work. Figures of
// a shared machine are what they were at that moment.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::topo {

struct PairFigures {
  double latency_ns = 0;  // one way, median
  double gbps = 0;        // of the copying side, median
};

struct ProbeOptions {
  uint32_t max_cores = 16;  // evenly spread over the cores this process may use
  uint32_t num_batches = 9;
  uint32_t round_trips = 1000;            // a batch
  uint64_t copy_bytes = 4u << 20;         // a batch
  std::chrono::milliseconds limit{5000};  // for one pair
};

// The cores this process may run on, by the system's numbers.
[[nodiscard]] std::vector<uint32_t> usable_cores();

// Runs a thread on each core (they may be the same one). kDeadline when the pair takes too long,
// kIo when a thread cannot be started or bound.
[[nodiscard]] Result<PairFigures> measure_pair(uint32_t core_a, uint32_t core_b,
                                               const ProbeOptions& options);

// A rank for each core, joined by a link each way with the figures of its pair.
[[nodiscard]] Result<Topology> probe(const ProbeOptions& options);

}  // namespace tutti::topo
