// What synthesis in steps works on (after SCCL): hops between ranks, and how many chunks each link
// carries in a round. A step is some rounds long; in it every hop carries what its links allow, and
// what arrives can be passed on in the next one.
//
// A hop is a message on its route, over the links that packed trees use: NVLink and xGMI alone
// where these join all ranks. A round is as long as a chunk takes on the slowest of these links;
// a link of twice that rate carries two, one of half as much more again only one.
#pragma once

#include <cstdint>
#include <vector>

#include "topo/topology.h"
#include "tutti/result.h"

namespace tutti::plan::steps {

// Searches and bounds look at every set of ranks.
inline constexpr uint32_t kMaxStepRanks = 16;

struct StepHop {
  uint32_t from = 0;
  uint32_t to = 0;
  std::vector<uint32_t> links = {};
};

struct StepLink {
  uint32_t from = 0;  // a node: ranks come first, then what only forwards
  uint32_t to = 0;
  uint32_t capacity = 1;  // chunks in a round
};

struct StepNetwork {
  uint32_t num_ranks = 0;
  uint32_t num_nodes = 0;
  std::vector<StepHop> hops;
  std::vector<StepLink> links;
  std::vector<std::vector<uint32_t>> out;  // hops by the rank that they leave
  std::vector<std::vector<uint32_t>> in;
  double round_gbps = 0;  // of the slowest link

  // Hops from one rank to another, by from * num_ranks + to.
  [[nodiscard]] std::vector<uint32_t> distances() const;
};

// kUnsupported beyond kMaxStepRanks; fabric_of's errors for a topology that cannot be.
[[nodiscard]] Result<StepNetwork> step_network(const topo::Topology& topology);

// Every hop turned round; they keep their numbers.
[[nodiscard]] StepNetwork reversed(const StepNetwork& network);

}  // namespace tutti::plan::steps
